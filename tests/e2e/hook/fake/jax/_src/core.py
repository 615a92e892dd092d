# SPDX-License-Identifier: MIT
tracing, running = [], []


class Array:
    def __init__(self, value):
        self.value = value


def trace_state_clean():
    return not tracing


def run(function, args):
    """What was compiled: nothing of the program's Python is run that the hook could see."""
    running.append(function)
    try:
        return function(*args)
    finally:
        running.pop()
