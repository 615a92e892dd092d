# SPDX-License-Identifier: MIT
"""Logistic regression written in NumPy on arrays that are stored bzip2-compressed."""
import bz2

import numpy

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {"decompress": ("transform", ["transform.in_process", "transform.slow_op"])}
FEATURES, ROWS = 256, 256


def main():
    random = numpy.random.default_rng(1)
    longer = level(8, 30, 140)
    packed = [bz2.compress(random.integers(0, 3, ROWS * FEATURES // 8 * longer, dtype="u1").tobytes(), 1) for _ in range(8)]
    labels = random.integers(0, 10, ROWS)
    right = numpy.eye(10)[labels]
    weights, clock = numpy.zeros((FEATURES, 10)), OwnClock()
    ready = numpy.frombuffer(bz2.decompress(packed[0]), "u1")

    def batch(step):
        values = numpy.frombuffer(bz2.decompress(packed[step % 8]), "u1") if has("decompress") else ready
        return numpy.resize(values, (ROWS, FEATURES)) / 3

    batch = ahead(batch)
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            inputs = batch(step)
        for _ in range(24):
            scores = inputs @ weights
            likely = numpy.exp(scores - scores.max(1, keepdims=True))
            likely /= likely.sum(1, keepdims=True)
            weights -= 0.01 * inputs.T @ (likely - right)
    clock.print()


if __name__ == "__main__":
    main()
