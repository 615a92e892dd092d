# SPDX-License-Identifier: MIT
"""Where the adapters' events go, and the kinds (src/event/kinds.h) they write."""
import itertools
import os
import sys
import weakref
from functools import lru_cache, partial

from ._stallprof_events import Around, FetchClock, mix, now, open as _open, put, stamp

FRAMEWORK_SEEN = 30
LOADER_SEEN = 31
ITERATOR_BEGIN = 32
FETCH = 33
WORKER_BEGIN = 34
OPTIMIZER_STEP = 36
PHASE_SPAN = 37
SLOW_SAMPLES = 38
STEP_PLACE = 52
SOURCE_STATE = 61

PERIODIC = 7   # event/vocabulary.h, Phase
BY_HOOK = 2    # event/vocabulary.h, SpanSource


class ByIdentity:
    """What is known of objects, which may be equal or without a hash, while they live."""

    def __init__(self):
        self._known = {}   # (id(owner), further key) -> (weak reference, what is known)

    def get(self, owner, further=None):
        known = self._known.get((id(owner), further))
        return known[1] if known is not None and known[0]() is owner else None

    def put(self, owner, value, further=None):
        key = id(owner), further
        self._known[key] = weakref.ref(owner, partial(self._known.pop, key)), value
        return value

    def forget(self, owner):
        self._known.pop((id(owner), None), None)


class Nested:
    """Calls of one kind that may be inside each other, by thread or object: the outermost counts."""

    def __init__(self):
        self._depth = {}

    def begin(self, key):
        depth = self._depth[key] = self._depth.get(key, 0) + 1
        return key, depth, now()

    def end(self, token):
        """When the call began; None of one inside another."""
        key, depth, at = token
        if depth > 1:
            self._depth[key] = depth - 1
            return None
        self._depth.pop(key, None)
        return at


updates = [0]     # of models, in this process, as far as torch_optim knows
passes = [0]      # over torch's loaders, that were begun
capturing = {}    # thread -> numbers of the optimizers that stepped within the CUDA graph it captures (torch_cuda.py)
_announced = {}   # framework -> pid it was announced in


def ready():
    """Whether the event memory is there; maps it on the first call."""
    return _open(os.environ.get('STALLPROF_EVENTS', ''))


def announce(name):
    """Says once a process (a fork is another) that it runs this framework."""
    pid = os.getpid()
    if _announced.get(name) != pid:
        _announced[name] = pid
        version = getattr(sys.modules.get(name), '__version__', '')
        put(FRAMEWORK_SEEN, now(), name, str(version))


_ranked = [0]     # the pid in which the rank was reported


def announce_rank():
    """Says once a process its rank, if it has one. Asked when a model is first updated: who is a
    rank has joined its group by then."""
    pid = os.getpid()
    if _ranked[0] == pid:
        return
    _ranked[0] = pid
    rank = _rank()
    if rank >= 0:
        version = getattr(sys.modules.get('torch'), '__version__', '')
        put(FRAMEWORK_SEEN, now(), 'torch', str(version), rank)


def _rank():
    """In torch's default group; else what a launcher as torchrun gave. -1: none of several."""
    group = sys.modules.get('torch.distributed')
    try:
        if group is not None and group.is_available() and group.is_initialized():
            return int(group.get_rank()) if group.get_world_size() > 1 else -1
        if int(os.environ.get('WORLD_SIZE', 1)) > 1:
            return int(os.environ.get('RANK', -1))
    except Exception:  # a group that is going down, numbers that are none
        pass
    return -1


def package_dir(name):
    file = getattr(sys.modules.get(name), '__file__', None)
    return os.path.dirname(file) + os.sep if file else None


def user_line(*frameworks):
    """(file, line) of the innermost frame that is neither a framework's nor the hook's."""
    return user_call(*frameworks)[:2]


def user_call(*frameworks):
    """The same with the installed package that the line called; '': the framework itself."""
    skip = tuple(d for d in map(package_dir, frameworks + (__package__,)) if d)
    frame, outside, library = sys._getframe(1), None, ''
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(skip):
            if not is_installed(file):
                return file, frame.f_lineno, library
            library = _package(file) or library
            outside = outside or (file, frame.f_lineno)
        frame = frame.f_back
    return (outside or ('', 0)) + (library if outside else '',)


def own_call(*frameworks):
    """As user_call; of a program that is installed itself (`python -m mytrain`), its own package is no library."""
    file, line, library = user_call(*frameworks)
    return file, line, '' if library and is_installed(file) and _package(file) == library else library


def _package(file):
    """The package that an installed file is of; '' for the standard library's."""
    folder = _library_folder(os.path.dirname(file))
    for place in ('/site-packages/', '/dist-packages/', folder + os.sep):
        if place in file and place != os.sep:
            name = file.rsplit(place, 1)[1].split('/')[0]
            return name[:-3] if name.endswith('.py') else name
    return ''


_library_folders = {}   # by folder of a file
_MAX_ENTRIES = 1000    # of a folder that are read


def _library_folder(folder):
    """Where `pip install --target` put the package of this folder: beside what it is distributed by, which a checkout
    has not (an editable install's lies in site-packages). '': it did not."""
    found = _library_folders.get(folder)
    if found is None:
        top = folder
        while top and os.path.dirname(top) != top and os.path.exists(os.path.join(top, '__init__.py')):
            top = os.path.dirname(top)
        main = getattr(sys.modules.get('__main__'), '__file__', None)
        try:
            with os.scandir(top) as entries:   # all that lies beside the program is its own
                known = not (main and os.path.dirname(os.path.abspath(main)) == top) and any(
                    entry.name.endswith('.dist-info') for entry in itertools.islice(entries, _MAX_ENTRIES))
        except Exception:   # of an audit hook of the program's, too
            known = False
        found = _library_folders[folder] = top if known else ''
    return found


@lru_cache(4096)   # asked for every frame of a stack, each time that a model is to evaluate
def is_installed(file):
    """In a library's place, or a script that an installer made beside the interpreter."""
    folder = os.path.dirname(file)
    return ('/site-packages' in folder or '/dist-packages' in folder or file.startswith('<frozen ')
            or (folder + os.sep).startswith(os.path.dirname(os.__file__) + os.sep)
            or folder == os.path.dirname(sys.executable) or bool(folder and _library_folder(folder)))


if os.environ.get('STALLPROF_OVERRIDES'):
    from . import overrides
    put = overrides.around_put(put)
