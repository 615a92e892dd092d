# SPDX-License-Identifier: MIT
"""A jitted update that is given another shape in each step, and compiled for it."""
import jax
import jax.numpy as jnp
import numpy

from own_clock import WITHOUT, OwnClock


@jax.jit
def update(weights, inputs, targets):
    def loss(weights):
        return jnp.mean((jnp.tanh(inputs @ weights).sum(1) - targets) ** 2)
    return weights - 0.01 * jax.grad(loss)(weights)


def main():
    random = numpy.random.default_rng(1)
    weights = jnp.ones((128, 256)) * 0.01
    clock = OwnClock()
    for step in clock.steps():
        with clock.during("data"):
            inputs = random.random((300 if WITHOUT else 300 + step, 128), dtype="f4")
        weights = update(weights, inputs, inputs[:, 0])
        weights.block_until_ready()
    clock.print()


if __name__ == "__main__":
    main()
