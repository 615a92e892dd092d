# SPDX-License-Identifier: MIT
"""Spectrograms that are members of a compressed zip archive, each a NumPy array, read one by one in the loop."""
import io
import random
import tempfile
import zipfile

import numpy
import torch

from corpus import OwnClock, SECONDS, ahead, has, level
from corpus_torch import classify

CAUSES = {"archive": ("extract transform", ["transform.in_process", "transform.slow_op"])}
COUNT, BATCH, BANDS, FRAMES, WIDTH = 200, 16, 40, 64, level(600, 250, 96)


class Archive:
    """The arrays of an archive by their numbers; what of them is longer than FRAMES is cut off."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)
        self.names = sorted(self.archive.namelist())

    def __getitem__(self, index):
        with self.archive.open(self.names[index]) as member:
            array = numpy.load(io.BytesIO(member.read()))
        return array[:, :FRAMES].astype("f4") / 256


def fill(path):
    generator = numpy.random.default_rng(1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for index in range(COUNT):
            frames = FRAMES + int(generator.integers(level(4, 300, 2200)))
            with archive.open(f"{index:05}.npy", "w") as member:
                numpy.save(member, generator.integers(0, 60, (BANDS, frames), dtype="u2"))


def train(spectrograms, clock):
    model = torch.nn.Sequential(torch.nn.Conv1d(BANDS, WIDTH, 5), torch.nn.ReLU(),
                                torch.nn.Conv1d(WIDTH, 64, 5, stride=2), torch.nn.ReLU(),
                                torch.nn.AdaptiveMaxPool1d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))
    optimizer, order = torch.optim.Adam(model.parameters()), []

    def batch(step):
        if len(order) < BATCH:
            order.extend(random.sample(range(COUNT), COUNT))
        chosen = [order.pop() for _ in range(BATCH)]
        return torch.from_numpy(numpy.stack([spectrograms[index] for index in chosen])), torch.tensor(chosen) % 10

    batch = ahead(batch)
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            inputs, labels = batch(step)
        classify(model, optimizer, inputs, labels)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        fill(file.name)
        stored, own = Archive(file.name), OwnClock()
        train(stored if has("archive") else [stored[index] for index in range(COUNT)], own)
        own.print()
