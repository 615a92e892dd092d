# SPDX-License-Identifier: MIT
"""Samples asked of an SQLite data base one by one, through a join without an index."""
import sqlite3

import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {"queries": ("transform extract", ["transform.in_process", "transform.slow_op", "extract.random_access"])}
COUNT = 256


def main():
    base = sqlite3.connect(":memory:")
    base.execute("create table samples (id integer primary key, name text, vector blob)")
    base.execute("create table labels (name text, label integer)")
    for index in range(COUNT):
        base.execute("insert into samples values (?, ?, ?)", (index, f"n{index}", torch.randn(512).numpy().tobytes()))
    base.executemany("insert into labels values (?, ?)", ((f"n{i}", i % 10) for i in range(level(900, 3500, 16000))))

    def sample(index):
        vector, label = base.execute("select vector, max(label) from samples join labels on +labels.name = +samples.name "
                                     "where samples.id = ?", (index,)).fetchone()
        return torch.frombuffer(bytearray(vector), dtype=torch.float32), label

    train(loader_of(COUNT, sample if has("queries") else made_before(COUNT, sample)), perceptron(512))


if __name__ == "__main__":
    main()
