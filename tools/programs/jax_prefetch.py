# SPDX-License-Identifier: MIT
"""A JAX step fed by a thread of the program's own through a queue."""
import queue
import threading

import jax
import jax.numpy as jnp
import numpy

from own_clock import OwnClock

STEPS = 600


def batch(random):
    images = random.standard_normal((64, 48, 48)).astype("f4")
    for _ in range(6):   # a blur, axis by axis
        images = (images + numpy.roll(images, 1, 1) + numpy.roll(images, 1, 2)) / 3
    spectrum = numpy.fft.rfft2(images)
    return numpy.abs(spectrum).reshape(64, -1)[:, :1024].astype("f4"), random.integers(0, 10, 64)


def produce(ready):
    random = numpy.random.default_rng(1)
    for _ in range(STEPS):
        ready.put(batch(random))


def loss(weights, images, labels):
    hidden = jax.nn.relu(images @ weights[0])
    chances = jax.nn.log_softmax(hidden @ weights[1])
    return -jnp.mean(jnp.take_along_axis(chances, labels[:, None], 1))


@jax.jit
def step(weights, images, labels):
    gradients = jax.grad(loss)(weights, images, labels)
    return [w - 0.01 * g for w, g in zip(weights, gradients)]


def main():
    key = jax.random.PRNGKey(1)
    weights = [jax.random.normal(key, (1024, 2048)) * 0.01, jax.random.normal(key, (2048, 10)) * 0.01]
    ready = queue.Queue(2)
    threading.Thread(target=produce, args=(ready,), daemon=True).start()
    clock = OwnClock()
    for _ in range(STEPS):
        clock.step()
        with clock.during("data"):
            images, labels = ready.get()
        for _ in range(12):   # some rounds a batch
            weights = step(weights, images, labels)
        jax.block_until_ready(weights)
    clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
