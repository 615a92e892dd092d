# SPDX-License-Identifier: MIT
"""A framework of tomorrow: names of its own that are called otherwise.

As `sitecustomize` of a program (the hook steps aside for it), it renames the words in MOVED wherever
they are in modules of the packages in MOVED_IN, as they are imported; such a module, too. The framework works
as before."""
import importlib.machinery
import os
import re
import sys

WORDS = os.environ.get('MOVED', '').split()
PACKAGES = tuple(os.environ.get('MOVED_IN', '').split())


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        text = self.get_data(self.path).decode()
        for word in WORDS:
            text = re.sub(r'\b%s\b' % word, word + '_moved', text)
        return compile(text, self.path, 'exec', dont_inherit=True)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith(PACKAGES):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name.replace('_moved', ''), path, target)
        if spec is not None:
            spec.name = spec.loader.name = name
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


if WORDS:   # after the hook's watcher, which asks the others
    sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), Finder)
