# SPDX-License-Identifier: MIT
"""A matrix factorised in NumPy; its ratings are read from a CSV file row by row, in the loop."""
import csv
import itertools
import pathlib
import tempfile

import numpy

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {
    "csv": ("extract transform", ["transform.in_process", "transform.slow_op"]),
    "save": ("periodic", ["periodic.checkpoint"]),
}
USERS, ITEMS, RANK, ROWS = 3000, 1000, level(120, 38, 16), level(600, 1200, 1500)


def write(path, random):
    tags = "|".join(f"tag{i}" for i in range(level(2, 10, 60)))
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "item", "rating", "title", "tags", "time"])
        for i in range(20 * ROWS):
            out.writerow([random.integers(USERS), random.integers(ITEMS), random.integers(1, 11) / 2,
                          f'"Film", number {i}', tags, 1_000_000_000 + i])


def ratings(path):
    while True:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            while rows := list(itertools.islice(reader, ROWS)):
                yield (numpy.array([int(row["user"]) for row in rows]), numpy.array([int(row["item"]) for row in rows]),
                       numpy.array([float(row["rating"]) for row in rows]))


def factorise(source, folder, random, clock):
    users, items = random.normal(0, 0.1, (USERS, RANK)), random.normal(0, 0.1, (ITEMS, RANK))
    batch = ahead(lambda step: next(source))
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            user, item, rating = batch(step)
        error = rating - (users[user] * items[item]).sum(1)
        towards_users, towards_items = error[:, None] * items[item], error[:, None] * users[user]
        numpy.add.at(users, user, 0.02 * towards_users - 0.001 * users[user])
        numpy.add.at(items, item, 0.02 * towards_items - 0.001 * items[item])
        if has("save") and step % 50 == 49:
            with clock.during("periodic"):
                numpy.savez(folder / "factors.npz", users=users, items=items)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        table, generator, own = pathlib.Path(name) / "ratings.csv", numpy.random.default_rng(1), OwnClock()
        write(table, generator)
        source = ratings(table)
        if not has("csv"):
            source = itertools.cycle(list(itertools.islice(source, 20)))
        factorise(source, pathlib.Path(name), generator, own)
    own.print()
