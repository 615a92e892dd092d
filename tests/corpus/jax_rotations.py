# SPDX-License-Identifier: MIT
"""Images rotated and blurred by NumPy in the loop, before a compiled step of JAX."""
import jax
import jax.numpy
import numpy

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {"augment": ("transform", ["transform.in_process", "transform.slow_op"])}
ROWS, SIDE = 32, 32


@jax.jit
def step(weights, images, targets):
    def loss(weights):
        hidden = jax.numpy.tanh(images.reshape(ROWS, -1) @ weights[0])
        return ((hidden @ weights[1] - targets) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return value, [w - 0.01 * g for w, g in zip(weights, gradients)]


def augmented(images, random):
    out = []
    for image in images:
        image = numpy.rot90(image, random.integers(4))
        for _ in range(level(1, 4, 18)):
            image = (image + numpy.roll(image, 1, 0) + numpy.roll(image, 1, 1)) / 3
        out.append(image)
    return numpy.stack(out)


def main():
    random = numpy.random.default_rng(1)
    images = random.random((512, SIDE, SIDE), dtype="f4")
    weights = [random.random((SIDE * SIDE, 2048), dtype="f4"), random.random((2048, 1), dtype="f4")]
    clock = OwnClock()

    def batch(count):
        part = images[count % 16 * ROWS:][:ROWS]
        return augmented(part, random) if has("augment") else part

    batch = ahead(batch)
    for count in clock.steps(SECONDS):
        with clock.during("data"):
            inputs = batch(count)
        value, weights = step(weights, inputs, inputs[:, :1, 0])
        value.block_until_ready()
    clock.print()


if __name__ == "__main__":
    main()
