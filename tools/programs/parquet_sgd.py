# SPDX-License-Identifier: MIT
"""Row groups of Parquet through pandas into scikit-learn's partial_fit."""
import tempfile

import numpy
import pandas
import pyarrow.parquet
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from own_clock import OwnClock


def make(path, groups=12, rows=250_000):
    random = numpy.random.default_rng(1)
    data = {f"x{i}": random.standard_normal(groups * rows).astype("f4") for i in range(20)}
    data["kind"] = random.choice(["red", "green", "blue"], groups * rows)
    data["y"] = random.integers(0, 2, groups * rows)
    pandas.DataFrame(data).to_parquet(path, row_group_size=rows)


def features(table):
    frame = pandas.get_dummies(table, columns=["kind"])
    for name in [c for c in frame.columns if c.startswith("x")]:
        frame[name + "_rank"] = frame[name].rank(pct=True)
    return frame.drop(columns="y").to_numpy("f8"), table["y"].to_numpy()


def main():
    model, scaler, clock = SGDClassifier(), StandardScaler(), OwnClock()
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/table.parquet"
        make(path)
        file = pyarrow.parquet.ParquetFile(path)
        for _ in range(3):
            for group in range(file.num_row_groups):
                clock.step()
                with clock.during("data"):
                    inputs, labels = features(file.read_row_group(group).to_pandas())
                    inputs = scaler.partial_fit(inputs).transform(inputs)
                model.partial_fit(inputs, labels, classes=[0, 1])
            clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
