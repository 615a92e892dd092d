# SPDX-License-Identifier: MIT
"""stallprof's agent in this process, where CUDA has loaded it: it is never loaded from here."""
import os
import sys

NAME = 'libstallprof_agent.so'

captures_known = [False]   # whether the agent hears of captures of graphs (torch_cuda.py)
_turns = []   # whether the agent waits for at_step(), and what it is to call; once the agent is there


def is_wanted():
    return os.path.basename(os.environ.get('CUDA_INJECTION64_PATH', '')) == NAME


def loaded():
    """The agent; None: not in this process."""
    if not is_wanted():
        return None
    import ctypes
    try:
        return ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'], mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def at_step():
    """The calling thread is about to update a model: its backward pass is launched, no other thread launches. Where
    a window of the agent's is to begin or end, it does so now."""
    torch = sys.modules['torch']
    try:
        if not _turns:
            agent = loaded() if captures_known[0] and torch.cuda.is_initialized() else None
            if agent is None:
                return
            import ctypes
            _turns.extend((ctypes.c_uint32.in_dll(agent, 'stallprof_agent_due'), agent.stallprof_agent_turn))
        due = _turns[0].value and _may_synchronize(torch)
    except Exception:   # of torch's: it is the user's step that goes on
        return
    if due:   # a synchronization: what a signal handler raises meanwhile is the program's
        _turns[1]()


def _may_synchronize(torch):
    """Not within the capture of a graph, which it would spoil; not with a process group, even of one rank: ranks wait
    for each other, and a thread of NCCL's asks CUDA again and again, unseen by the agent; and with several devices the
    others would not be."""
    if torch.cuda.is_current_stream_capturing():
        return False
    distributed = sys.modules.get('torch.distributed')
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return False
    devices = range(torch.cuda.device_count())
    return len(devices) == 1 or sum(map(torch._C._cuda_hasPrimaryContext, devices)) == 1
