# SPDX-License-Identifier: MIT
"""A table read by pandas in each step, and a linear model updated by NumPy."""
import pathlib
import tempfile

import numpy
import pandas

from own_clock import WITHOUT, OwnClock


def make(folder, files=24, rows=4000):
    random = numpy.random.default_rng(1)
    for i in range(files):
        table = pandas.DataFrame(random.standard_normal((rows, 21)), columns=[f"c{j}" for j in range(21)])
        table.to_csv(folder / f"{i}.csv", index=False)


def main():
    weights = numpy.zeros(20)
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = sorted(pathlib.Path(folder).glob("*.csv"))
        ready = [pandas.read_csv(file).to_numpy() for file in files]
        clock = OwnClock()
        for step in clock.steps():
            with clock.during("data"):
                at = step % len(files)
                table = ready[at] if WITHOUT else pandas.read_csv(files[at]).to_numpy()
            inputs, targets = table[:, :20], table[:, 20]
            for _ in range(20):
                weights -= 0.001 * inputs.T @ (inputs @ weights - targets) / len(targets)
    clock.print()


if __name__ == "__main__":
    main()
