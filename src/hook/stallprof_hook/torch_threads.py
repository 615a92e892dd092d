# SPDX-License-Identifier: MIT
"""torch.set_num_threads in the program's own code: where it is called, the environment does nothing. With
`run --threads` it gets the other number."""
import os
import sys

from . import events, overrides
from .events import Around
from .parts import Part, Parts

PARTS = Parts('torch_threads', Part('threads', 'the line that sets how many threads compute', 'set_num_threads'))
_MAX_NUMBERS = 8   # numbers of a process: a program may set one for each part of its step
_reported = [0, set()]   # pid, numbers


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


def _begin(args, kwargs):
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
    PARTS.install(module, {'set_num_threads': lambda set_threads: Around(set_threads, _begin)})
