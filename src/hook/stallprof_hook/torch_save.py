# SPDX-License-Identifier: MIT
"""torch.save: a checkpoint, so an interval of phase periodic, with the user's line."""
from . import events
from .events import Around, now, put
from .parts import Part, Parts

PARTS = Parts('torch_save', Part('checkpoints', 'the time that torch.save takes', 'save(obj, f)'))


def _begin(args, kwargs):
    return now()


def _saved(at, args, result, succeeded):
    end = now()
    file, line = events.user_line('torch')
    put(events.PHASE_SPAN, at, end - at, events.PERIODIC, events.BY_HOOK, 'torch.save', file, line)


def install(module):
    """`module` is torch.serialization, just executed: before torch takes `save` from it."""
    PARTS.install(module, {'save': lambda save: Around(save, _begin, _saved)})
