# SPDX-License-Identifier: MIT
"""What `stallprof run --set` and the like ask to be changed in the job (src/launch/setup/overrides.h).

What cannot be applied ends the program before its first step, with one line: a run without the change
would be taken for one with it. Without the variable nothing here changes anything.
"""
import os
import sys

from . import events
from .events import now, put

SETTING_CHANGED = 50
_FAILED = 125   # the exit status of stallprof's own failures


def _read():
    lines = os.environ.get('STALLPROF_OVERRIDES', '').split('\n')
    return dict(line.split('=', 1) for line in lines if '=' in line)


asked = _read()
loader_at = asked.pop('loader', '')
threads, replay, drain = (int(asked.pop(name, 0)) for name in ('threads', 'replay', 'drain'))
ends = asked.pop('ends', '') == '1'     # the run ends after some steps, or seconds of them
trains = asked.pop('trains', '') == '1'   # a drain is of the training's loader
AUTO = -1   # as tf.data.AUTOTUNE
_WORDS = {'true': True, 'false': False, 'auto': AUTO}
loader = {name: int(value) if value.isdigit() else _WORDS.get(value) for name, value in asked.items()}
# Whose settings are not of PyTorch's loader, and what a program lacks where they did not take effect.
_LACKING = {
    'num_parallel_calls': 'no Dataset.map or interleave of tf.data',
    'prefetch': 'no iterator of a tf.data dataset',
    'private_threadpool_size': 'no iterator of a tf.data dataset',
    'workers': 'no PyDataset of Keras in fit (PyTorch has num_workers)',
    'max_queue_size': 'no PyDataset of Keras in fit',
    'fused': 'no optimizer of PyTorch that has a fused update'}
others = {name: loader.pop(name) for name in _LACKING if name in loader}

_applied = set()    # of `loader` and `others`, in this process or one that forked it
_elsewhere = []     # lines that made a loader which was not the one
_checked = [0]      # the pid in which the first step was checked
_any = bool(loader or others or threads)


def refuse(what, why):
    """Ends the program. An exception might be caught, and the training go on without the change."""
    _flush()
    os.write(2, ('stallprof: %s cannot be applied: %s\n' % (what, why)).encode(errors='replace'))
    os._exit(_FAILED)


def leave():
    """Ends the program when it has shown what was asked for."""
    _flush()
    os._exit(0)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, or the program's own
            pass


def _below(path):
    return path[2:] if path.startswith('./') else path


def is_meant(file, line):
    """Whether the loader that this line makes is to be changed."""
    if not loader_at:
        return True
    wanted, _, number = loader_at.rpartition(':')
    if number == str(line) and (file == wanted or file.endswith('/' + _below(wanted))
                                or os.path.realpath(wanted) == os.path.realpath(file)):
        return True
    if len(_elsewhere) < 8:
        _elsewhere.append('%s:%d' % (file, line))
    return False


def changed(name, before, after, file, line):
    _applied.add(name)
    report_change(name, before, after, file, line)


def report_change(name, before, after, file, line):
    put(SETTING_CHANGED, now(), name, _text(name, before), _text(name, after), file, line)


def _text(name, value):
    return 'auto' if value == AUTO and name in others else repr(value)


def check_first_step():
    """Called before a model's first update in a process: all that was asked for has happened by then."""
    if not _any or _checked[0] == os.getpid():
        return
    _checked[0] = os.getpid()
    lacking = [name for name in (*loader, *others) if name not in _applied]
    if lacking:
        where = ' at ' + loader_at if loader_at else ''
        seen = '; loaders were made at ' + ', '.join(_elsewhere) if _elsewhere else ''
        refuse('--set ' + lacking[0], 'the program trains, and has made %s%s%s' % (
            _LACKING.get(lacking[0], 'no DataLoader of PyTorch'), where, seen))
    torch = sys.modules.get('torch')
    if threads and torch is not None and torch.get_num_threads() != threads:
        refuse('--threads %d' % threads, 'the program computes with %d threads that it set in another way than by '
               'torch.set_num_threads in its own code' % torch.get_num_threads())


def around_put(original):
    """For the adapters whose steps are reported when they are done."""
    def checked(kind, *fields):
        if kind == events.OPTIMIZER_STEP:
            check_first_step()
        original(kind, *fields)
    return checked
