# SPDX-License-Identifier: MIT
"""stallprof's hook: tells the recorder of batches, workers and steps from inside the job.

`start()` only puts a watcher on sys.meta_path. When one of the modules in ADAPTERS has been
imported, its adapter (one small file each, same package) is loaded and puts the framework's
functions into `Around`s. A Python that never imports a framework pays for this file alone, so
nothing is imported here that the interpreter has not loaded by itself.
"""
import os
import sys

ADAPTERS = {
    'torch.utils.data.dataloader': 'torch_loader',
    'torch.utils.data._utils.worker': 'torch_worker',
    'torch.optim.optimizer': 'torch_optim',
    'torch.serialization': 'torch_save',
}


class _Watcher:
    """A meta path finder that finds nothing itself: it marks the specs of watched modules."""

    def __init__(self):
        self._waiting = dict(ADAPTERS)

    def find_spec(self, name, path=None, target=None):
        if name not in self._waiting:
            return None
        spec = self._spec_of_others(name, path, target)
        if spec is not None and hasattr(spec.loader, 'exec_module'):
            self._mark(spec)
        return spec

    def _spec_of_others(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, 'find_spec', None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                return spec
        return None

    def _mark(self, spec):
        try:
            from . import events
            if events.ready():
                spec.loader = _MarkedLoader(spec.loader, self.loaded, events)
            else:
                self._remove()
        except ImportError:
            self._remove()

    def loaded(self, module):
        """`module` has been executed: put its adapter in. Once each."""
        adapter = self._waiting.pop(module.__name__, None)
        if adapter is not None:
            __import__(__name__ + '.' + adapter)
            sys.modules[__name__ + '.' + adapter].install(module)
        if not self._waiting:
            self._remove()

    def _remove(self):
        self._waiting = {}
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _MarkedLoader:
    """Stands for a loader until the module is executed; the module never sees it."""

    def __init__(self, loader, loaded, events):
        def begin(args, kwargs):
            spec = args[0].__spec__
            spec.loader = args[0].__loader__ = loader
            return args[0]

        def end(module, args, result, succeeded):
            if succeeded:
                loaded(sys.modules.get(module.__name__, module))

        self._loader = loader
        self.exec_module = events.Around(loader.exec_module, begin, end)

    def __getattr__(self, name):
        return getattr(self._loader, name)


def start():
    """Called once, by sitecustomize. Does nothing unless a recorder waits for events."""
    if not os.environ.get('STALLPROF_EVENTS'):
        return
    watcher = _Watcher()
    sys.meta_path.insert(0, watcher)
    for name in ADAPTERS:  # something at start-up may have been faster
        if name in sys.modules:
            from . import events
            if events.ready():
                watcher.loaded(sys.modules[name])
