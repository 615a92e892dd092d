# SPDX-License-Identifier: MIT
"""torch.profiler: only one tool of a process can have CUPTI, and the program's own comes first. The
agent lets go of it before torch's profiler is made ready, and takes it back when that has stopped.
(Whatever activities are wanted: the first time decides whether torch ever sees the GPU.)"""
from . import agent
from .events import Around
from .parts import Part, Parts

PARTS = Parts('torch_profiler', Part(
    'turns', "torch's own profiler may see no GPU beside stallprof's agent",
    '_prepare_profiler(config, activities)', '_disable_profiler()'))


def _release(args, kwargs):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_release()


def _retake(token, args, result, succeeded):
    loaded = agent.loaded()
    if loaded is not None:
        loaded.stallprof_agent_retake()


def install(module):
    """`module` is torch.autograd.profiler, just executed; torch.profiler uses it."""
    PARTS.install(module, {'_prepare_profiler': lambda prepare: Around(prepare, _release),
                           '_disable_profiler': lambda disable: Around(disable, None, _retake)})
