# SPDX-License-Identifier: MIT
"""Batches parsed in Python by two threads beside the loop, which share the interpreter's lock with it."""
import queue
import random
import threading

import torch

from own_clock import WITHOUT, OwnClock
from torch_training import update

WORDS = 256


def parse(line):
    return [float(int(word) % 97) / 97 for word in line.split()]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    lines = [" ".join(str(random.randint(0, 999)) for _ in range(WORDS)) for _ in range(2000)]

    def batch():
        return torch.tensor([parse(random.choice(lines)) for _ in range(48)])

    def work():
        while True:
            made.put(batch())

    made, ready = queue.Queue(4), batch()
    for _ in range(0 if WITHOUT else 2):
        threading.Thread(target=work, daemon=True).start()
    layers = [layer for _ in range(30) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())]
    model = torch.nn.Sequential(torch.nn.Linear(WORDS, 64), *layers, torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            inputs = ready if WITHOUT else made.get()
        update(optimizer, model(inputs).square().mean())
    clock.print()


if __name__ == "__main__":
    main()
