# SPDX-License-Identifier: MIT
"""CUDA graphs. Where an update of the model is captured in one, each replay is a step. A program that has graphs crashes
where CUPTI is switched afterwards: the agent hears of it before the first, and leaves it as it is."""
import weakref
from threading import get_ident

from . import agent, events
from .events import Around, now, put
from .parts import Part, Parts

PARTS = Parts('torch_graphs',
              Part('captures', 'when CUDA graphs are captured, and so windows of the GPU: all is recorded',
                   'CUDAGraph.capture_begin(self)'),
              Part('replays', 'updates of models within CUDA graphs', 'CUDAGraph.capture_end(self)', 'CUDAGraph.replay(self)'))

_counts = []   # whether replays are counted
_updates = weakref.WeakKeyDictionary()   # graph -> numbers of the optimizers that step within it


def _begins(args, kwargs):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_keep()
    if _counts:
        events.capturing[get_ident()] = []


def _ended(graph, args, result, succeeded):
    numbers = events.capturing.pop(get_ident(), None)
    if numbers and succeeded:
        _updates[graph] = tuple(dict.fromkeys(numbers))


def _replay_begins(args, kwargs):
    return now() if args[0] in _updates else None


def _replayed(at, args, result, succeeded):
    if succeeded:
        for number in _updates[args[0]]:
            put(events.OPTIMIZER_STEP, at, now() - at, number)
        events.updates[0] += 1


def install(module):
    """`module` is torch.cuda.graphs, just executed."""
    whole = PARTS.install(module, {
        'CUDAGraph.capture_begin': lambda begin: Around(begin, _begins),
        'CUDAGraph.capture_end': lambda end: Around(end, None, _ended),
        'CUDAGraph.replay': lambda replay: Around(replay, _replay_begins, _replayed)})
    agent.captures_known[0] = 'captures' in whole
    _counts.extend(whole & {'replays'})
