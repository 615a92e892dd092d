# SPDX-License-Identifier: MIT
"""Captures of CUDA graphs. A program that has graphs crashes where CUPTI is switched afterwards: the agent hears of it
before the first, and leaves it as it is."""
from . import agent
from .events import Around
from .parts import Part, Parts

PARTS = Parts('torch_graphs', Part('captures', 'when CUDA graphs are captured, and so windows of the GPU: all is recorded',
                                   'CUDAGraph.capture_begin(self)'))


def _keep(args, kwargs):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_keep()


def install(module):
    """`module` is torch.cuda.graphs, just executed."""
    if agent.is_wanted():
        agent.captures_known[0] = bool(PARTS.install(module, {
            'CUDAGraph.capture_begin': lambda begin: Around(begin, _keep)}))
