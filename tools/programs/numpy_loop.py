# SPDX-License-Identifier: MIT
"""A network and its gradients in NumPy alone, batches parsed from text files."""
import pathlib
import tempfile

import numpy

from own_clock import OwnClock


def make(folder, files=20, rows=600):
    random = numpy.random.default_rng(1)
    for i in range(files):
        numpy.savetxt(folder / f"{i:03}.csv", random.standard_normal((rows, 41)), fmt="%.5f", delimiter=",")


def read(path):
    table = numpy.loadtxt(path, delimiter=",")
    return table[:, :40], table[:, 40:]


def update(weights, inputs, targets):
    for _ in range(20):
        hidden = numpy.tanh(inputs @ weights[0])
        error = hidden @ weights[1] - targets
        back = (error @ weights[1].T) * (1 - hidden ** 2)
        weights[1] -= 0.001 * hidden.T @ error / len(inputs)
        weights[0] -= 0.001 * inputs.T @ back / len(inputs)
    return float((error ** 2).mean())


def main():
    random = numpy.random.default_rng(2)
    weights = [random.standard_normal((40, 512)) * 0.1, random.standard_normal((512, 1)) * 0.1]
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = sorted(pathlib.Path(folder).glob("*.csv"))
        clock = OwnClock()
        for path in files * 12:
            clock.step()
            with clock.during("data"):
                inputs, targets = read(path)
            update(weights, inputs, targets)
        clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
