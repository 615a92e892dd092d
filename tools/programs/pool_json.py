# SPDX-License-Identifier: MIT
"""Gzipped JSON lines parsed by a multiprocessing pool of the program's own, two processes ahead of PyTorch."""
import gzip
import json
import multiprocessing
import pathlib
import random
import tempfile
import zlib

import torch

from own_clock import OwnClock


def make(folder, files=40, rows=400):
    random.seed(1)
    words = [f"word{i}" for i in range(3000)]
    for i in range(files):
        with gzip.open(folder / f"{i:03}.jsonl.gz", "wt") as out:
            for _ in range(rows):
                label = random.randrange(4)
                row = {"text": " ".join(random.choices(words[label * 500:], k=60)), "tags": ["a", "b"], "label": label}
                out.write(json.dumps(row) + "\n")


def parse(path):
    counts, labels = [], []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            counts.append([zlib.crc32(word.encode()) % 4096 for word in row["text"].split()])
            labels.append(row["label"])
    return counts, labels


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = sorted(pathlib.Path(folder).glob("*.gz"))
        model = torch.nn.Sequential(torch.nn.EmbeddingBag(4096, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
        optimizer = torch.optim.Adagrad(model.parameters(), 0.05)
        with multiprocessing.Pool(2) as pool:
            clock = OwnClock()
            for counts, labels in clock.batches(pool.imap(parse, files * 8)):
                counts, labels = torch.tensor(counts), torch.tensor(labels)
                for _ in range(4):   # rounds of four parts
                    for part in torch.arange(len(labels)).chunk(4):
                        optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(model(counts[part]), labels[part]).backward()
                optimizer.step()
    clock.print()


if __name__ == "__main__":
    main()
