# SPDX-License-Identifier: MIT
"""Ratings of products learned by JAX: rows are found by index and scaled in Python, held-out ones scored."""
import jax
import jax.numpy as jnp
import numpy as np

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {
    "rows": ("transform", ["transform.in_process", "transform.slow_op"]),
    "evaluation": ("periodic", ["periodic.evaluation"]),
}
ROWS, FEATURES, EVERY = 256, level(8, 28, 120), 20


def squared_error(parameters, features, ratings):
    *hidden, last = parameters
    for weights in hidden:
        features = jax.nn.relu(features @ weights)
    return jnp.mean(((features @ last)[:, 0] - ratings) ** 2)


@jax.jit
def update(parameters, features, ratings, rate=1e-3):
    error, gradients = jax.value_and_grad(squared_error)(parameters, features, ratings)
    return error, jax.tree_util.tree_map(lambda p, g: p - rate * g, parameters, gradients)


class Catalogue:
    def __init__(self, random, count=2000):
        self.names = [f"B{number:07d}" for number in range(count)]
        self.products = {name: {"features": row, "low": min(row), "span": max(row) - min(row)}
                         for name, row in zip(self.names, random.normal(size=(count, FEATURES)).tolist())}

    def batch(self, names):
        out = np.empty((len(names), FEATURES), "f4")
        for at, product in enumerate(map(self.products.get, names)):
            low, span = product["low"], product["span"]
            out[at] = [round((value - low) / span, 4) for value in product["features"]]
        return out


def main():
    random, clock = np.random.default_rng(1), OwnClock()
    catalogue, score = Catalogue(random), jax.jit(squared_error)
    asked = [list(random.choice(catalogue.names, ROWS)) for _ in range(24)]
    ready, ratings = [catalogue.batch(names) for names in asked], random.uniform(1, 5, ROWS).astype("f4")
    sizes = [FEATURES, 1024, 1024, 1]
    parameters = [random.normal(0, 0.05, shape).astype("f4") for shape in zip(sizes, sizes[1:])]
    batch = ahead(lambda step: catalogue.batch(asked[step % 24]) if has("rows") else ready[step % 24])
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            features = batch(step)
        error, parameters = update(parameters, features, ratings)
        float(error)
        if has("evaluation") and step % EVERY == EVERY - 1:
            with clock.during("periodic"):
                errors = [float(score(parameters, held_out, ratings)) for held_out in ready[:level(4, 8, 16)]]
                sum(errors) / len(errors)
    clock.print()


if __name__ == "__main__":
    main()
