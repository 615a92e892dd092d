# SPDX-License-Identifier: MIT
"""Made-up JPEG files and a small classifier for the programs on tf.data."""
import keras
import numpy
import tensorflow as tf


def make(folder, count, side):
    random = numpy.random.default_rng(1)
    for i in range(count):
        noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1").repeat(8, 0).repeat(8, 1)
        (folder / f"{i:05}.jpg").write_bytes(tf.io.encode_jpeg(noise).numpy())


def classifier(filters=8):
    return keras.Sequential([keras.layers.Conv2D(filters, 5, 2, activation="relu"), keras.layers.MaxPooling2D(4),
                             keras.layers.Flatten(), keras.layers.Dense(10)])


def loss():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
