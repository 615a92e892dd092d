# SPDX-License-Identifier: MIT
"""A Keras model trained by a loop of the program's own, eagerly, on batches cut by NumPy."""
import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock


def batch(random, images, labels):
    chosen = random.integers(0, len(images), 32)
    shifted = numpy.stack([numpy.roll(images[i], random.integers(-4, 5, 2), (0, 1)) for i in chosen])
    noisy = shifted + random.normal(0, 0.1, shifted.shape)
    return ((noisy - noisy.mean((1, 2, 3), keepdims=True)) / noisy.std((1, 2, 3), keepdims=True)).astype("f4"), \
        labels[chosen]


def main():
    random = numpy.random.default_rng(1)
    images, labels = random.standard_normal((2000, 64, 64, 3)).astype("f4"), random.integers(0, 10, 2000)
    model = keras.Sequential([keras.layers.Conv2D(16, 5, 2, activation="relu"), keras.layers.MaxPooling2D(4),
                              keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    clock = OwnClock()
    for _ in range(900):
        clock.step()
        with clock.during("data"):
            inputs, targets = batch(random, images, labels)
        with tf.GradientTape() as tape:
            error = loss(targets, model(inputs, training=True))
        gradients = tape.gradient(error, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
