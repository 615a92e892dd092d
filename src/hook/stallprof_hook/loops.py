# SPDX-License-Identifier: MIT
"""Turns of the program's own loops, exactly, on CPython 3.12 and newer: sys.monitoring's events for
backward jumps, only of code objects that are the program's own and hold a loop (loops.c). Loops whose
turns are short are left alone after 256 of them.

Which code is the program's own is seen while numpy is imported, as nearly every training does: the
script and the modules that are on the stack then, and all functions in them.
"""
import os
import sys
import types

from . import events
from ._stallprof_events import watch_turns

NAME = 'stallprof'
_HOOK = os.path.dirname(__file__) + os.sep
# Debuggers, coverage and profilers have ids of their own, and other tools take 3 or 4 without asking: first that
# which is named for optimizers, which few use.
_FREE_IDS = 5, 4, 3
_watched = set()     # ids of code objects; what is watched is never freed
_kept = []
_opcodes = {}        # by name


def _place(code, begin, end):
    """(file as bytes, first, last line) of the loop that a jump goes back to the begin of; None for one within
    a line."""
    begin = max(begin, _last_jump(code.co_code, end))
    lines = [line for start, stop, line in code.co_lines() if line and stop > end and start <= begin]
    if not lines or min(lines) == max(lines):
        return None
    return code.co_filename.encode('utf-8', 'backslashreplace'), min(lines), max(lines)


def _last_jump(code, target):
    """Where the last jump back to `target` is; `continue` and branches have their own."""
    argument, last = 0, -1
    for at in range(0, len(code), 2):
        argument = argument << 8 | code[at + 1]
        if code[at] == _opcode('EXTENDED_ARG'):
            continue
        # From behind the jump, and from 3.13 on behind its cache.
        if code[at] == _opcode('JUMP_BACKWARD') and target in (at + 2 - 2 * argument, at + 4 - 2 * argument):
            last = at
        argument = 0
    return last


def _opcode(name):
    if name not in _opcodes:
        import opcode
        _opcodes[name] = opcode.opmap[name]
    return _opcodes[name]


def _tool():
    """Our id among the tools; None: there is none free."""
    monitoring = sys.monitoring
    for tool in _FREE_IDS:
        if monitoring.get_tool(tool) == NAME:
            return tool
    for tool in _FREE_IDS:
        if monitoring.get_tool(tool) is None:
            turn = watch_turns(monitoring.DISABLE, _place)
            if turn is None:
                return None
            monitoring.use_tool_id(tool, NAME)
            monitoring.register_callback(tool, monitoring.events.JUMP, turn)
            return tool
    return None


def _own(file):
    return not file.startswith(_HOOK) and not events.is_installed(file)


def _watch(tool, code):
    if id(code) in _watched:
        return
    _watched.add(id(code))
    _kept.append(code)
    if _opcode('JUMP_BACKWARD') in code.co_code[::2]:
        sys.monitoring.set_local_events(tool, code, sys.monitoring.events.JUMP)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _watch(tool, constant)


def install(module):
    """Of numpy, just executed: whoever imports it is on the stack."""
    tool = _tool()
    frame = sys._getframe(1) if tool is not None else None
    while frame is not None:
        if _own(frame.f_code.co_filename):
            _watch(tool, frame.f_code)
            for value in list(frame.f_globals.values()):
                # Its type, not its class: a lazy module or a mock runs code of the program's to answer that.
                if type(value) is types.FunctionType and value.__globals__ is frame.f_globals:
                    _watch(tool, value.__code__)
        frame = frame.f_back
