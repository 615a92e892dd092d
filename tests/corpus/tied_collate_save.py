# SPDX-License-Identifier: MIT
"""A control: bags of words counted in Python by the collate function and checkpoints cost about the same."""
import functools
import pathlib
import tempfile

import torch
from torch.utils.data import DataLoader

from corpus import OwnClock, batches, has, level
from corpus_torch import classify, perceptron

CAUSES = {
    "collate": ("transform", ["transform.in_process", "transform.slow_op"]),
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
}
FEATURES, COUNT, BATCH, EVERY = 400, 640, 32, level(3, 1, 1)


def count_words(numbers, samples):
    rows = []
    for words, _ in samples:
        row = [0.0] * FEATURES
        for word in words.split():
            row[numbers[word]] += 1
        rows.append(row)
    return torch.tensor(rows), torch.tensor([label for _, label in samples])


def save(path, step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def main():
    numbers = {f"w{i}": i for i in range(FEATURES)}
    length = level(100, 800, 1750)
    texts = [(" ".join(f"w{n}" for n in torch.randint(FEATURES, (length,)).tolist()), i % 10) for i in range(COUNT)]
    loader = DataLoader(texts, BATCH, collate_fn=functools.partial(count_words, numbers))
    model, clock = perceptron(FEATURES, 240), OwnClock()
    optimizer = torch.optim.Adam(model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        for step, (inputs, labels) in enumerate(batches(clock, loader if has("collate") else list(loader))):
            classify(model, optimizer, inputs, labels)
            if has("checkpoint") and step % EVERY == EVERY - 1:
                with clock.during("periodic"):
                    for name in ("last.pt", "resume.pt")[:level(1, 1, 2)]:
                        save(pathlib.Path(folder) / name, step, model, optimizer)
    clock.print()


if __name__ == "__main__":
    main()
