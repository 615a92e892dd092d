#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The thread loads of the budgets, for scripts/bench_overhead.

usage: thread_loads.py asleep|crowd|woken|gil|busy SECONDS

asleep: 100 threads blocked on one lock, crowd: 5,000. woken: 100 threads that each sleep 10 ms, over and over.
gil: 16 threads of pure Python, a fixed amount of work each (SECONDS is scaled to it). busy: 16 processes of it, with
calls 20 deep."""

import multiprocessing
import sys
import threading
import time


def crowd(seconds):
    threading.stack_size(256 * 1024)
    return asleep(seconds, 5000)


def asleep(seconds, count=100):
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    release.set()
    return threads


def woken(seconds):
    end = time.monotonic() + seconds

    def nap():
        while time.monotonic() < end:
            time.sleep(0.01)

    threads = [threading.Thread(target=nap) for _ in range(100)]
    for thread in threads:
        thread.start()
    return threads


def gil(seconds):
    rounds = int(seconds * 1_500_000)  # about SECONDS of one core on a 2024 machine; fixed work

    def spin():
        total = 0
        for i in range(rounds):
            total += i * i
        return total

    threads = [threading.Thread(target=spin) for _ in range(16)]
    for thread in threads:
        thread.start()
    return threads


def descend(depth, rounds):
    if depth > 0:
        return descend(depth - 1, rounds)
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def call(seconds):
    for i in range(int(seconds * 2_000)):  # about SECONDS of one core for 16, as above
        descend(i % 20, 1000)


def busy(seconds):
    processes = [multiprocessing.Process(target=call, args=(seconds,)) for _ in range(16)]
    for process in processes:
        process.start()
    return processes


def main():
    loads = {"asleep": asleep, "crowd": crowd, "woken": woken, "gil": gil, "busy": busy}
    for thread in loads[sys.argv[1]](float(sys.argv[2])):
        thread.join()


if __name__ == "__main__":
    main()
