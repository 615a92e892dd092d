# SPDX-License-Identifier: MIT
"""torch.compile leaves the hook alone: what runs of it between two compiled graphs is neither traced
nor counted. What a compiled graph itself calls is traced all the same (torch_optim knows how)."""
import sys
import types

from .parts import ABSENT, report

_reported = []


def leave_out(module):
    """Marks every function of `module`, an adapter of ours; they call no code of the program."""
    skip = _skip()
    if skip:
        for value in list(vars(module).values()):
            if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
                _each(value.__code__, skip)


def _skip():
    """torch's own way to leave a code object out; None where it has no compiler."""
    dynamo = getattr(sys.modules.get('torch._C'), '_dynamo', None)
    frames = getattr(dynamo, 'eval_frame', None)
    if hasattr(frames, 'set_code_exec_strategy'):  # from 2.7
        never = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
        return lambda code: frames.set_code_exec_strategy(code, never)
    skip = getattr(frames, 'skip_code', None)
    if dynamo is not None and skip is None and not _reported:
        _reported.append(True)
        report('torch_compile.leave_out', ABSENT, 'torch._C._dynamo has no way known to leave code out: graphs '
                                                  'may break at the hook where torch.compile traces it')
    return skip


def _each(code, act):
    act(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _each(constant, act)
