#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Launches a known number of one kernel (erfinv, which nothing else here launches), then ends in one way:

  endings.py exit|os_exit|sigkill|sigterm|exception|fork|spawn|threads|reset|subprocess|none

Prints the number on standard output before it ends. `none` uses no GPU."""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

LAUNCHES, BURST, PAUSE = 12_000, 5, 1e-3  # slow enough that every kernel is recorded


def launch(count=LAUNCHES):
    import torch
    values = torch.zeros(1 << 12, device="cuda")
    torch.cuda.synchronize()
    for done in range(0, count, BURST):
        for _ in range(BURST):
            values.erfinv_()
        time.sleep(PAUSE)
        if done % 1000 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()


def say(count):
    print(count, flush=True)


def main(how):
    if how == "none":
        import torch
        torch.ones(4).erfinv_()
        time.sleep(2)
        return say(0)
    if how == "spawn":
        context = multiprocessing.get_context("spawn")
        children = [context.Process(target=launch, args=(LAUNCHES // 2,)) for _ in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        return say(LAUNCHES)
    if how == "subprocess":
        subprocess.run(["sh", "-c", f"'{sys.executable}' '{__file__}' exit"], stdout=subprocess.DEVNULL, check=True)
        return say(LAUNCHES)
    if how == "threads":
        threads = [threading.Thread(target=launch, args=(LAUNCHES // 4,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif how == "fork":
        launch(LAUNCHES // 2)
        if os.fork() == 0:
            time.sleep(0.5)
            os._exit(0)
        launch(LAUNCHES // 2)
        os.wait()
    else:
        launch()
    say(LAUNCHES)
    if how == "os_exit":
        os._exit(0)
    if how in ("sigkill", "sigterm"):
        os.kill(os.getpid(), getattr(signal, how.upper()))
        time.sleep(5)
    if how == "exception":
        raise RuntimeError("a training that fails")
    if how == "reset":
        import ctypes
        name = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart.so" in line)
        ctypes.CDLL(name).cudaDeviceReset()
        os._exit(0)  # torch is not ready for it


if __name__ == "__main__":
    main(sys.argv[1])
