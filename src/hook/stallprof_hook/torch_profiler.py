# SPDX-License-Identifier: MIT
"""torch.profiler: only one tool of a process can have CUPTI, and the program's own comes first. The
agent lets go of it before torch's profiler is made ready, and takes it back when that has stopped.
(Whatever activities are wanted: the first time decides whether torch ever sees the GPU.)"""
import os

from .events import Around
from .parts import Part, Parts

PARTS = Parts('torch_profiler', Part(
    'turns', "torch's own profiler may see no GPU beside stallprof's agent",
    '_prepare_profiler(config, activities)', '_disable_profiler()'))

AGENT = 'libstallprof_agent.so'


def _agent():
    """The agent, where this process has it: it is never loaded from here. Else None."""
    path = os.environ.get('CUDA_INJECTION64_PATH', '')
    if os.path.basename(path) != AGENT:
        return None
    import ctypes
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def _release(args, kwargs):
    agent = _agent()
    if agent is not None:
        agent.stallprof_agent_release()


def _retake(token, args, result, succeeded):
    agent = _agent()
    if agent is not None:
        agent.stallprof_agent_retake()


def install(module):
    """`module` is torch.autograd.profiler, just executed; torch.profiler uses it."""
    PARTS.install(module, {'_prepare_profiler': lambda prepare: Around(prepare, _release),
                           '_disable_profiler': lambda disable: Around(disable, None, _retake)})
