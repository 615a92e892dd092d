# SPDX-License-Identifier: MIT
"""Images augmented in NumPy by a function of the loop's own, before a jitted step."""
import jax
import jax.numpy as jnp
import numpy

from own_clock import WITHOUT, OwnClock


def augment(images, random):
    images = numpy.where(random.random((len(images), 1, 1, 1)) < 0.5, images[:, :, ::-1], images)
    images = images + 0.1 * random.standard_normal(images.shape).astype("f4")
    return (images - images.mean(axis=(1, 2), keepdims=True)) / (images.std(axis=(1, 2), keepdims=True) + 1e-6)


def loss(weights, images, labels):
    hidden = jnp.tanh(images.reshape(len(images), -1) @ weights["in"]) @ weights["out"]
    return -jnp.mean(jax.nn.log_softmax(hidden)[jnp.arange(len(labels)), labels])


@jax.jit
def update(weights, images, labels):
    value, gradients = jax.value_and_grad(loss)(weights, images, labels)
    return jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, weights, gradients), value


def main():
    random = numpy.random.default_rng(1)
    images, labels = random.random((512, 64, 64, 3), dtype="f4"), random.integers(0, 10, 512)
    keys = jax.random.split(jax.random.PRNGKey(1), 2)
    weights = {"in": jax.random.normal(keys[0], (64 * 64 * 3, 48)) * 0.01, "out": jax.random.normal(keys[1], (48, 10))}
    ready = augment(images[:64], random)
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            chosen = random.integers(0, 512, 64)
            batch = ready if WITHOUT else augment(images[chosen], random)
        weights, value = update(weights, batch, labels[chosen])
        value.block_until_ready()
    clock.print()


if __name__ == "__main__":
    main()
