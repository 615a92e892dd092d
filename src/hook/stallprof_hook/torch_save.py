# SPDX-License-Identifier: MIT
"""torch.save: a checkpoint, so an interval of phase periodic, with the user's line. Not where torch saves a
storage by it in memory because somebody pickles a tensor, as to send it: there may be thousands a second. Nor where
a data set keeps what it made: that is a part of making the batch."""
import sys

from . import events
from .events import Around, now, put
from .parts import Part, Parts

PARTS = Parts('torch_save', Part('checkpoints', 'the time that torch.save takes', 'save(obj, f)'))


def _begin(args, kwargs):
    """None: it is no checkpoint. The frame below is that of who calls `save`: Around has none."""
    frame = sys._getframe(1)
    if frame.f_globals.get('__name__') == 'torch.storage':
        return None
    while frame is not None:
        if str(frame.f_globals.get('__name__')).startswith('torch.utils.data.'):
            return None
        frame = frame.f_back
    return now()


def _saved(at, args, result, succeeded):
    end = now()
    file, line = events.user_line('torch')
    put(events.PHASE_SPAN, at, end - at, events.PERIODIC, events.BY_HOOK, 'torch.save', file, line)


def install(module):
    """`module` is torch.serialization, just executed: before torch takes `save` from it."""
    PARTS.install(module, {'save': lambda save: Around(save, _begin, _saved)})
