# SPDX-License-Identifier: MIT
"""PyTorch with no loader: each batch is four queries of sqlite, over rows without an index."""
import os
import pathlib
import random
import sqlite3
import tempfile

import numpy
import torch

from own_clock import WITHOUT
from torch_training import on_rows, train_by


def make(path, count=20000):
    with sqlite3.connect(path) as rows:
        rows.execute("create table batches (number integer, data blob)")
        rows.executemany("insert into batches values (?, ?)", ((i, os.urandom(4096)) for i in range(count)))


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder) / "batches.db")
        rows = sqlite3.connect(pathlib.Path(folder) / "batches.db")

        def batch():
            data = [rows.execute("select data from batches where number = ?", (random.randrange(20000),)).fetchone()[0]
                    for _ in range(4)]
            return torch.from_numpy(numpy.frombuffer(b"".join(data), "u1").astype("f4").reshape(64, 256) / 255)

        ready = batch()
        train_by(lambda: ready if WITHOUT else batch(), *on_rows(*(torch.nn.Linear(256, 256) for _ in range(4))))


if __name__ == "__main__":
    main()
