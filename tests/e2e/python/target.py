# SPDX-License-Identifier: MIT
"""A program whose stacks are known: three threads that rest at fixed places, through what a stack
can go through, and one that spins. Says on stdout, one line a thread, what a reader must see, then
"ready"; ends when stdin does. Runs on CPython 3.8 and later."""
import os
import sys
import threading


def line_of(function, offset):
    return '%d' % (function.__code__.co_firstlineno + offset)


class Widget:
    def __call__(self, gate):  # from C: a call through a slot
        return self.method(gate)

    def method(self, gate):
        return sorted([1, 2], key=lambda item: wait(
            gate))


def wait(gate):
    gate.acquire()
    return 0


def generator(gate):
    for number in (1,
                   2):
        yield Widget()(
            gate)


def through_generator(gate):
    total = 0
    # a comment, so that lines differ
    for item in generator(gate):
        total += item
    return total


def deep(gate, depth):
    if depth:
        return deep(gate, depth - 1)
    return wait(gate)


def naïve(gate):
    exec(compile('\n' * 300 + 'wait(gate)', 'made up.py', 'exec'), {'wait': wait, 'gate': gate})


def spin(stop):
    while not stop:
        pass


def start(target, *arguments):
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def stack_of(thread):
    frame, found = sys._current_frames()[thread.ident], []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, 'co_qualname', code.co_name)
        found.append('%s:%s:%d' % (name, os.path.basename(code.co_filename), frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def main():
    gate, stop = threading.Lock(), []
    gate.acquire()
    sys.setrecursionlimit(int(sys.argv[1]) + 1000)
    threading.stack_size(64 << 20)
    threads = [start(through_generator, gate), start(deep, gate, int(sys.argv[1])),
               start(naïve, gate)]
    if len(sys.argv) > 2:
        start(spin, stop)
    while any(stack_of(thread)[-1].split(':')[0] != 'wait' for thread in threads):
        pass
    for thread in threads:
        tid = getattr(thread, 'native_id', None)
        print(tid, *stack_of(thread))
    print('ready', flush=True)
    sys.stdin.read()
    stop.append(1)


if __name__ == '__main__':
    main()
