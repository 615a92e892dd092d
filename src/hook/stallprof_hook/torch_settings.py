# SPDX-License-Identifier: MIT
"""`run --set`: other arguments for torch.utils.data.DataLoader, given where it is made. Lightning, accelerate and
transformers make theirs by the same constructor, and where they make one from another they copy what is set here.
Order and random numbers are what PyTorch makes of the settings.

torch.set_num_threads in the program's own code: where it is called, the environment does nothing. With
`run --threads` it gets the other number.
"""
import os
import sys

from . import events, overrides
from .events import Around
from .parts import Part, Parts

THREADS = Parts('torch_threads', Part('threads', 'the line that sets how many threads compute', 'set_num_threads'))
_MAX_NUMBERS = 8   # numbers of a process: a program may set one for each part of its step
_reported = [0, set()]   # pid, numbers

# That DataLoader refuses where it has no workers: they go with the workers.
_WITH_WORKERS = ('prefetch_factor', 'persistent_workers', 'timeout', 'multiprocessing_context')
_NEEDS_WORKERS = {'prefetch_factor': None, 'persistent_workers': True}   # None: any value


def around(init):
    """An Around of the constructor; `init` itself where no setting was asked for."""
    if not overrides.loader:
        return init
    code = init.__code__
    positional = code.co_varnames[:code.co_argcount]
    known = positional + code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(positional[::-1], (init.__defaults__ or ())[::-1]), **(init.__kwdefaults__ or {}))

    def begin(args, kwargs):
        file, line, _ = events.user_call('torch', 'torchdata')
        if not overrides.is_meant(file, line):
            return None
        given = dict(zip(positional, args), **(kwargs or {}))
        wanted = _wanted(given, defaults)
        for name, value in wanted.items():
            _check(name, value, known, wanted.get('num_workers', given.get('num_workers', 0)), file, line)
        for name, value in wanted.items():
            overrides.changed(name, given.get(name, defaults.get(name)), value, file, line)
        given.update(wanted)
        return [args[:1], {name: value for name, value in given.items() if name != positional[0]}]

    return Around(init, begin)


def _wanted(given, defaults):
    """What is asked for, and what goes with the workers where there are to be none."""
    wanted = dict(overrides.loader)
    if wanted.get('num_workers') == 0:
        for name in _WITH_WORKERS:
            if name in given and name in defaults and given[name] != defaults[name]:
                wanted.setdefault(name, defaults[name])
    return wanted


def _check(name, value, known, workers, file, line):
    at = 'the loader at %s:%d' % (file, line)
    asked = '--set %s=%s' % (name, str(value).lower() if type(value) is bool else value)
    if name not in known:
        version = sys.modules['torch.version'].__version__
        overrides.refuse(asked, 'the DataLoader of PyTorch %s has no such argument' % version)
    if name in overrides.loader and not workers and name in _NEEDS_WORKERS \
            and _NEEDS_WORKERS[name] in (None, value):
        overrides.refuse(asked, at + ' has no workers; --loader FILE:LINE names another, --set num_workers=N gives '
                                     'it some')


def iterator_made(iterator, loader):
    """Before a first batch: PyTorch leaves memory as it is, with a warning, where it knows no device."""
    if overrides.loader.get('pin_memory') and getattr(loader, 'pin_memory', False) \
            and getattr(iterator, '_pin_memory', True) is False:
        overrides.refuse('--set pin_memory=true', 'PyTorch finds no device to pin memory for')


def _line():
    """Of the program's own call, outside of a loader's workers. '': a library's. PyTorch calls it in workers and in
    threads that pin memory, Lightning and accelerate where the environment sets nothing."""
    frame = sys._getframe(2)
    worker = sys.modules.get('torch.utils.data._utils.worker')
    file = frame.f_code.co_filename
    torch = events.package_dir('torch')
    if events.is_installed(file) or torch and file.startswith(torch) \
            or worker is not None and worker.get_worker_info() is not None:
        return '', 0
    return file, frame.f_lineno


def _threads_begin(args, kwargs):
    if len(args) != 1 or type(args[0]) is not int or args[0] < 1:
        return None
    file, line = _line()
    if not file:
        return None
    wanted = overrides.threads or args[0]
    if _reported[0] != os.getpid():
        _reported[:] = os.getpid(), set()
    if args[0] not in _reported[1] and len(_reported[1]) < _MAX_NUMBERS:
        _reported[1].add(args[0])
        overrides.report_change('torch.set_num_threads', args[0], wanted, file, line)
    return [(wanted,), {}]


def install(module):
    """`module` is torch, just executed."""
    THREADS.install(module, {'set_num_threads': lambda set_threads: Around(set_threads, _threads_begin)})
