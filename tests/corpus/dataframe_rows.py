# SPDX-License-Identifier: MIT
"""A sample is a row of a data frame, taken by its index and converted value by value."""
import numpy
import pandas
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {"rows": ("transform", ["transform.in_process", "transform.slow_op"])}
COUNT, FEATURES = 512, 64


def main():
    random = numpy.random.default_rng(1)
    frame = pandas.DataFrame(random.random((COUNT, FEATURES)), columns=[f"f{i}" for i in range(FEATURES)])
    frame["label"] = random.integers(0, 10, COUNT)
    words = [f"f{i}" for i in range(level(1, 4, 22))]

    def sample(index):
        row = frame.iloc[index]
        mean = sum(float(frame.iloc[index][word]) for word in words) / len(words)
        return torch.tensor(row.to_numpy(dtype="f4")[:FEATURES]) - mean, int(row["label"])

    train(loader_of(COUNT, sample if has("rows") else made_before(COUNT, sample)), perceptron(FEATURES, level(800, 500, 420)))


if __name__ == "__main__":
    main()
