# SPDX-License-Identifier: MIT
"""A CSV file read by chunks of rows, each fitted by scikit-learn."""
import tempfile

import numpy
import pandas
from sklearn.linear_model import SGDClassifier

from corpus import OwnClock, Repeatable, batches, has, level

CAUSES = {"parse": ("transform", ["transform.in_process", "transform.slow_op"])}
ROWS, FEATURES = 200, 24


def chunks(path):
    for frame in pandas.read_csv(path, chunksize=ROWS):
        yield frame[[f"f{i}" for i in range(FEATURES)]].to_numpy(), frame["label"].to_numpy()


def main():
    random = numpy.random.default_rng(1)
    width = FEATURES + level(4, 110, 700)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        frame = pandas.DataFrame(random.random((ROWS * 8, width)).round(4), columns=[f"f{i}" for i in range(width)])
        frame.assign(label=random.integers(0, 10, len(frame))).to_csv(file.name, index=False)
        model, clock = SGDClassifier(), OwnClock()
        for features, labels in batches(clock, Repeatable(chunks, file.name) if has("parse") else list(chunks(file.name))):
            for _ in range(level(12, 8, 6)):
                model.partial_fit(features, labels, classes=numpy.arange(10))
    clock.print()


if __name__ == "__main__":
    main()
