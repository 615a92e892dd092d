# SPDX-License-Identifier: MIT
"""CUDA graphs and torch.profiler, both of which the agent hears of.

Where an update of the model is captured in a graph, each replay is a step. A program that has graphs crashes where
CUPTI is switched afterwards: the agent hears of it before the first, and leaves it as it is.

Only one tool of a process can have CUPTI, and the program's own comes first. The agent lets go of it before torch's
profiler is made ready, and takes it back when that has stopped. (Whatever activities are wanted: the first time decides
whether torch ever sees the GPU.)
"""
import weakref
from threading import get_ident

from . import agent, events
from .events import Around, now, put
from .parts import Part, Parts

GRAPHS = Parts('torch_graphs',
               Part('captures', 'when CUDA graphs are captured, and so windows of the GPU: all is recorded',
                    'CUDAGraph.capture_begin(self)'),
               Part('replays', 'updates of models within CUDA graphs', 'CUDAGraph.capture_end(self)',
                    'CUDAGraph.replay(self)'))
PROFILER = Parts('torch_profiler', Part(
    'turns', "torch's own profiler may see no GPU beside stallprof's agent",
    '_prepare_profiler(config, activities)', '_disable_profiler()'))

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


def _release(args, kwargs):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_release()


def _retake(token, args, result, succeeded):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_retake()


def install(module):
    """`module` is torch.cuda.graphs, or torch.autograd.profiler, which torch.profiler uses; just executed."""
    if module.__name__ == 'torch.autograd.profiler':
        PROFILER.install(module, {'_prepare_profiler': lambda prepare: Around(prepare, _release),
                                  '_disable_profiler': lambda disable: Around(disable, None, _retake)})
        return
    whole = GRAPHS.install(module, {
        'CUDAGraph.capture_begin': lambda begin: Around(begin, _begins),
        'CUDAGraph.capture_end': lambda end: Around(end, None, _ended),
        'CUDAGraph.replay': lambda replay: Around(replay, _replay_begins, _replayed)})
    agent.captures_known[0] = 'captures' in whole
    _counts.extend(whole & {'replays'})
