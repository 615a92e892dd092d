# SPDX-License-Identifier: MIT
"""Keras trained batch by batch, on images that NumPy distorts between the steps; evaluated now and then."""
import keras
import numpy

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {
    "distort": ("transform", ["transform.in_process", "transform.slow_op"]),
    "evaluation": ("periodic", ["periodic.evaluation"]),
}


def distorted(images, random):
    for _ in range(level(1, 3, 12)):
        images = images + random.normal(0, 0.01, images.shape)
        images = (images + numpy.roll(images, random.integers(1, 4), 2)) / 2
    return images.astype("f4")


def main():
    random = numpy.random.default_rng(1)
    images, labels = random.random((512, 24, 24, 3), dtype="f4"), random.integers(0, 10, 512)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1500, "relu"), keras.layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    clock = OwnClock()

    def batch(step):
        part = slice(step % 8 * 64, step % 8 * 64 + 64)
        return distorted(images[part], random) if has("distort") else images[part], labels[part]

    batch = ahead(batch)
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            inputs, targets = batch(step)
        model.train_on_batch(inputs, targets)
        if has("evaluation") and step % 100 == 99:
            with clock.during("periodic"):
                model.evaluate(images[:128], labels[:128], verbose=0)
    clock.print()


if __name__ == "__main__":
    main()
