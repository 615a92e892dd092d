# SPDX-License-Identifier: MIT
"""A compiled step that meets a new shape every few batches, and is compiled again."""
import jax
import jax.numpy
import numpy

from corpus import OwnClock, SECONDS, has, level

CAUSES = {
    "shapes": ("compute", ["compute.recompilation"]),
    "masks": ("transform", ["transform.in_process"]),
}
LONGEST = 4000


@jax.jit
def step(weights, inputs, targets):
    def loss(weights):
        return ((jax.numpy.tanh(inputs @ weights[0]) @ weights[1] - targets) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return value, [w - 0.01 * g for w, g in zip(weights, gradients)]


def main():
    random = numpy.random.default_rng(1)
    rows = random.random((LONGEST, 256), dtype="f4")
    weights, clock = [random.random((256, 256), dtype="f4"), random.random((256, 1), dtype="f4")], OwnClock()
    every = level(66, 24, 9)
    for count in clock.steps(SECONDS):
        with clock.during("data"):
            length = 3000 + (count // every if has("shapes") and count % every == 0 else 0)
            inputs = rows[:length] * (random.random((length, 1), dtype="f4") > 0.1) if has("masks") else rows[:length]
        value, weights = step(weights, inputs, inputs[:, :1])
        value.block_until_ready()
    clock.print()


if __name__ == "__main__":
    main()
