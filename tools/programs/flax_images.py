# SPDX-License-Identifier: MIT
"""A Flax model, updated by Optax in a compiled step, on images of a memory-mapped file that the loop
itself cuts and scales."""
import pathlib
import tempfile

import flax.linen as nn
import jax
import numpy
import optax

from own_clock import OwnClock

IMAGES, SIDE, BATCH, STEPS = 20_000, 48, 128, 900


class Network(nn.Module):
    @nn.compact
    def __call__(self, images):
        hidden = nn.relu(nn.Dense(256)(images.reshape(images.shape[0], -1)))
        return nn.Dense(10)(nn.relu(nn.Dense(128)(hidden)))


def make(folder):
    random = numpy.random.default_rng(1)
    images = numpy.lib.format.open_memmap(folder / "images.npy", mode="w+", dtype="u1", shape=(IMAGES, SIDE, SIDE, 3))
    for i in range(0, IMAGES, 1000):
        images[i:i + 1000] = random.integers(0, 256, (1000, SIDE, SIDE, 3))
    images.flush()
    return random.integers(0, 10, IMAGES)


def main():
    network, rule = Network(), optax.adam(1e-4)
    weights = network.init(jax.random.key(1), numpy.zeros((1, SIDE, SIDE, 3), "f4"))
    state = rule.init(weights)

    @jax.jit
    def step(weights, state, images, labels):
        def loss(weights):
            return optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, images), labels).mean()
        value, gradients = jax.value_and_grad(loss)(weights)
        changes, state = rule.update(gradients, state)
        return optax.apply_updates(weights, changes), state, value

    random = numpy.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        labels = make(pathlib.Path(folder))
        images = numpy.load(pathlib.Path(folder) / "images.npy", mmap_mode="r")
        clock = OwnClock()
        for _ in range(STEPS):
            clock.step()
            with clock.during("data"):
                chosen = random.integers(0, IMAGES, BATCH)
                batch = numpy.stack([images[i].astype("f4") / 255 - 0.5 for i in chosen])
                batch = numpy.where(random.random((BATCH, 1, 1, 1)) < 0.5, batch, numpy.flip(batch, 2))
            weights, state, value = step(weights, state, batch, labels[chosen])
            float(value)
        clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
