# SPDX-License-Identifier: MIT
"""Batches that a thread of its own makes, handed over at a condition: two at most are ready."""
import threading

import numpy
import torch

from own_clock import WITHOUT
from torch_training import on_rows, sorted_rows, train_by


def main():
    torch.set_num_threads(1)
    random, changed, made = numpy.random.default_rng(1), threading.Condition(), []

    def work():
        while True:
            fresh = sorted_rows(random)
            with changed:
                while len(made) >= 2:
                    changed.wait()
                made.append(fresh)
                changed.notify_all()

    def take():
        with changed:
            while not made:
                changed.wait()
            changed.notify_all()
            return made.pop(0)

    ready = sorted_rows(random)
    if not WITHOUT:
        threading.Thread(target=work, daemon=True).start()
    train_by(lambda: torch.from_numpy(ready if WITHOUT else take()),
             *on_rows(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)))


if __name__ == "__main__":
    main()
