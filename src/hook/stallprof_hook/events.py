# SPDX-License-Identifier: MIT
"""Where the adapters' events go, and the kinds (src/event/kinds.h) they write."""
import os
import sys

from ._stallprof_events import Around, mix, now, open as _open, put, stamp

__all__ = ['Around', 'mix', 'now', 'put', 'stamp', 'ready', 'announce', 'user_line']

FRAMEWORK_SEEN = 30
LOADER_SEEN = 31
ITERATOR_BEGIN = 32
FETCH = 33
WORKER_BEGIN = 34
WORKER_TASK = 35
OPTIMIZER_STEP = 36
PHASE_SPAN = 37

PERIODIC = 7   # event/vocabulary.h, Phase
BY_HOOK = 2    # event/vocabulary.h, SpanSource

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


def _package_dir(name):
    file = getattr(sys.modules.get(name), '__file__', None)
    return os.path.dirname(file) + os.sep if file else None


def user_line(*frameworks):
    """(file, line) of the innermost frame that is neither a framework's nor the hook's."""
    skip = tuple(d for d in map(_package_dir, frameworks + (__package__,)) if d)
    frame, outside = sys._getframe(1), None
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(skip):
            if not _installed(file):
                return file, frame.f_lineno
            outside = outside or (file, frame.f_lineno)
        frame = frame.f_back
    return outside or ('', 0)


def _installed(file):
    """In a library's place, or a script that an installer made beside the interpreter."""
    folder = os.path.dirname(file)
    return ('/site-packages' in folder or '/dist-packages' in folder or file.startswith('<frozen ')
            or (folder + os.sep).startswith(os.path.dirname(os.__file__) + os.sep)
            or folder == os.path.dirname(sys.executable))
