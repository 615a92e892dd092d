# SPDX-License-Identifier: MIT
"""A small language model in PyTorch on a memory-mapped file of tokens, batches cut in the loop by list
comprehensions; the file is not in memory when the training begins."""
import os
import pathlib
import tempfile

import numpy
import torch

from own_clock import OwnClock

TOKENS, CONTEXT, BATCH, STEPS = 100_000_000, 64, 512, 800


def make(path):
    random = numpy.random.default_rng(1)
    with open(path, "wb") as file:
        for _ in range(10):
            file.write(random.integers(0, 512, TOKENS // 10, dtype="u2").tobytes())
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(CONTEXT * 32, 256), torch.nn.Tanh(), torch.nn.Linear(256, 512))
    words = torch.nn.Embedding(512, 32)
    optimizer = torch.optim.AdamW([*model.parameters(), *words.parameters()], lr=1e-3)
    random = numpy.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokens.bin"
        make(path)
        tokens = numpy.memmap(path, dtype="u2", mode="r")
        clock = OwnClock()
        for _ in range(STEPS):
            clock.step()
            with clock.during("data"):
                starts = random.integers(0, TOKENS - CONTEXT - 1, BATCH)
                inputs = torch.stack([torch.from_numpy(tokens[i:i + CONTEXT].astype("i8")) for i in starts])
                targets = torch.tensor([int(tokens[i + CONTEXT]) for i in starts])
            loss = torch.nn.functional.cross_entropy(model(words(inputs).flatten(1)), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
