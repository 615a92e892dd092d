# SPDX-License-Identifier: MIT
"""A control: a classifier of scikit-learn fitted by parts of an array that is in memory."""
import numpy
from sklearn.neural_network import MLPClassifier

from corpus import OwnClock, SECONDS, has, level

CAUSES = {"shuffle": ("transform", ["transform.in_process"])}


def main():
    random = numpy.random.default_rng(1)
    features, labels = random.random((2000, 64)), random.integers(0, 10, 2000)
    model, clock = MLPClassifier((level(64, 128, 256),)), OwnClock()
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            chosen = random.permutation(2000)[:400] if has("shuffle") else slice(400)
            part, right = features[chosen], labels[chosen]
        model.partial_fit(part, right, classes=numpy.arange(10))
    clock.print()


if __name__ == "__main__":
    main()
