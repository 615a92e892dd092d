# SPDX-License-Identifier: MIT
"""Lines of text read from a log of sensors, split and turned to numbers by one worker."""
import itertools
import os
import random
import tempfile

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from corpus import OPTIONS, has, level
from corpus_torch import perceptron, train

CAUSES = {
    "parse": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
    "one_worker": ("transform", ["transform.too_few_workers"], ["more_workers"]),
}
CHANNELS, READINGS, LINES = 256, level(5, 7, 15), 640


class SensorLog(IterableDataset):
    """A line: a label, then a comma-separated list of readings per channel, of which the mean is taken."""

    def __init__(self, path, parsed=None):
        self.path, self.parsed = path, parsed

    def parse(self, line):
        label, *channels = line.rstrip("\n").split(";")
        means = []
        for channel in channels:
            readings = [float(text) for text in channel.split(",")]
            means.append(sum(readings) / len(readings))
        return torch.tensor(means), int(label)

    def __iter__(self):
        worker = get_worker_info()
        first, every = (worker.id, worker.num_workers) if worker else (0, 1)
        if self.parsed:
            yield from self.parsed[first::every]
            return
        with open(self.path) as file:
            yield from map(self.parse, itertools.islice(file, first, None, every))


def write_log(path):
    random.seed(1)
    with open(path, "w") as file:
        for index in range(LINES):
            channels = (",".join(f"{random.gauss(0, 1):.5f}" for _ in range(READINGS)) for _ in range(CHANNELS))
            file.write(f"{index % 10};{';'.join(channels)}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "sensors.csv")
        write_log(log)
        data = SensorLog(log, None if has("parse") else list(SensorLog(log)))
        settings = {"num_workers": 1 if has("one_worker") else 2, "persistent_workers": True, **dict(OPTIONS.set)}
        train(DataLoader(data, batch_size=32, **settings), perceptron(CHANNELS, 360))
