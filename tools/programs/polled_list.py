# SPDX-License-Identifier: MIT
"""Batches that a thread of its own puts into a list; the loop asks every two milliseconds."""
import threading
import time

import numpy
import torch

from own_clock import WITHOUT, OwnClock
from torch_training import on_rows, sorted_rows, update


def main():
    torch.set_num_threads(1)
    random, made = numpy.random.default_rng(1), []

    def work():
        while True:
            while len(made) >= 2:
                time.sleep(0.002)
            made.append(sorted_rows(random))

    ready = sorted_rows(random)
    if not WITHOUT:
        threading.Thread(target=work, daemon=True).start()
    model, optimizer = on_rows(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            while not made and not WITHOUT:
                time.sleep(0.002)
            inputs = torch.from_numpy(ready if WITHOUT else made.pop(0))
        update(optimizer, model(inputs).square().mean())
    clock.print()


if __name__ == "__main__":
    main()
