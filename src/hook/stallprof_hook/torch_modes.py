# SPDX-License-Identifier: MIT
"""Evaluation in a loop of the program's own: from its `model.eval()` to the `model.train()` of the same
module, an interval of phase periodic, with the user's line.

Not where a library calls eval(): its own evaluation is known by its functions, and others evaluate a
model to make data. Nor where a model is updated meanwhile, nor short ones where there are more of them
than updates: a model that acts is no more evaluated than it changes.

A program of its own may make data in that mode, too: rollouts of reinforcement learning, text that is
then rewarded. Those come before the updates that learn from them, the first before any update. So may
an evaluation, which the function's name says, or a pass over a loader.
"""
import re
import sys
import threading
from functools import wraps

from . import events
from .events import Around, ByIdentity, Nested, now, put
from .parts import Part, Parts
from .torch_optim import compiling_check

PARTS = Parts('torch_modes', Part('evaluation', 'evaluation by loops of the program\'s own',
                                  'Module.train(self, mode)'))
EVALUATION = 'evaluation'   # analysis/steps/timeline.h

FEW = 20                    # intervals: so many may come before the first updates
LONG = 10 ** 9              # ns: no act takes so long, and these are few

EVALUATES = frozenset('acc accuracy benchmark dev eval evaluate evaluation infer inference loss losses metric metrics '
                      'perplexity ppl predict score scores test tests val valid validate validation'.split())
# As analysis/steps/own_samples.cpp has them (namesPlay), and those that write what is learnt from.
MAKES_DATA = frozenset('act action actions collect env envs environment episode episodes explore generate play rollout '
                       'rollouts sample samples trajectory trajectories'.split())
LOOPS = frozenset('fit learn loop main train trainer training'.split())   # names of what goes on above it say nothing

_intervals = [0]            # of all modules
_ahead = [False]            # one that nothing shows to evaluate came before the first update
_named = {}                 # name of a function -> its words
_switching = Nested()   # by thread: a module hands the mode on to those it has, which two threads may do at once
_open = ByIdentity()   # module -> begin, updates until then, file, line, passes until then, what names say


def _begin(args, kwargs):
    """The mode is the call's: a compiled or scripted module has its own elsewhere, or one that is out of date."""
    mode = args[1] if len(args) > 1 else (kwargs or {}).get('mode', True)
    return _switching.begin(threading.get_ident()), mode


def _end(token, args, result, succeeded):
    begun, training = token
    at = _switching.end(begun)
    if at is None or not succeeded:
        return
    module = args[0]
    opened = _open.get(module)
    if training is False and opened is None:
        file, line, library = events.own_call('torch')
        if not library:
            _open.put(module, (at, events.updates[0], file, line, events.passes[0], _is_evaluation()))
    elif training is True and opened is not None:
        begin, updates, file, line, passes, evaluates = opened
        _open.forget(module)
        if updates == events.updates[0]:
            length = now() - begin
            _intervals[0] += 1
            if length < LONG and _acts(_intervals[0], updates):
                return
            if evaluates is None and passes == events.passes[0]:   # nor does a loader show it
                _ahead[0] |= not updates
                evaluates = not _ahead[0]
            if evaluates is False:
                return
            put(events.PHASE_SPAN, begin, length, events.PERIODIC, events.BY_HOOK, EVALUATION, file, line)


def _is_evaluation():
    """What the program's own functions are called, from the innermost to that of the training loop."""
    frame, known = sys._getframe(2), None
    while frame is not None:
        name = frame.f_code.co_name
        if not events.is_installed(frame.f_code.co_filename):
            words = _named.get(name)
            if words is None:
                words = _named[name] = frozenset(re.findall('[a-z]+', re.sub('([A-Z]+)', r' \1', name).lower()))
            if words & LOOPS:
                break
            if words & EVALUATES:   # by making text, perhaps
                return True
            known = False if words & MAKES_DATA else known
        frame = frame.f_back
    return known


def _acts(intervals, updates):
    """Half as many again as updates: each may be followed by one evaluation, and some by two."""
    return updates > 0 and intervals > FEW and 2 * intervals > 3 * updates


def _watched(train):
    around = Around(train, _begin, _end, True)
    if sys.modules['torch.version'].__version__.startswith('1.'):
        return around
    is_compiling = compiling_check()

    @wraps(train)
    def watched(self, mode=True):
        """A function: torch.compile traces it, and guards the default of its argument as that of a function."""
        return train(self, mode) if is_compiling() else around(self, mode)
    watched.__defaults__ = train.__defaults__
    return watched


def install(module):
    """`module` is torch.nn.modules.module, just executed."""
    PARTS.install(module, {'Module.train': _watched})
