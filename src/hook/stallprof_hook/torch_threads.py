# SPDX-License-Identifier: MIT
"""torch.set_num_threads: where a program sets its threads itself, the environment does not. With `run --threads` it
gets the other number."""
import os
import sys

from . import events, overrides
from .events import Around
from .parts import Part, Parts

PARTS = Parts('torch_threads', Part('threads', 'the line that sets how many threads compute', 'set_num_threads'))
_reported = [None]   # (pid, threads): a program may set them in each step


def _of_the_programs_own():
    """Neither PyTorch's call in a loader's worker nor the program's there: those are not the step's threads."""
    worker = sys.modules.get('torch.utils.data._utils.worker')
    return worker is None or worker.get_worker_info() is None and \
        sys._getframe(2).f_code.co_filename != worker.__file__


def _begin(args, kwargs):
    if len(args) != 1 or type(args[0]) is not int or args[0] < 1 or not _of_the_programs_own():
        return None
    wanted = overrides.threads or args[0]
    if _reported[0] != (os.getpid(), args[0]):
        _reported[0] = os.getpid(), args[0]
        overrides.changed('torch.set_num_threads', args[0], wanted, *events.user_line('torch'))
    return [(wanted,), {}]


def install(module):
    """`module` is torch, just executed."""
    PARTS.install(module, {'set_num_threads': lambda set_threads: Around(set_threads, _begin)})
