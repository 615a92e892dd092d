# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into a training loop of the program's own."""
import pathlib
import tempfile

import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock


def make(folder, count=300, side=256):
    random = numpy.random.default_rng(1)
    for i in range(count):
        noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1").repeat(8, 0).repeat(8, 1)
        (folder / f"{i:05}.jpg").write_bytes(tf.io.encode_jpeg(noise).numpy())


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    return tf.image.resize(image, (96, 96), "bicubic") / 255, tf.strings.length(path) % 10


def main():
    model = keras.Sequential([keras.layers.Conv2D(8, 5, 2, activation="relu"), keras.layers.MaxPooling2D(4),
                              keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.01)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            error = loss(labels, model(images, training=True))
        gradients = tape.gradient(error, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = tf.data.Dataset.list_files(folder + "/*.jpg", seed=1)
        data = files.map(decode, num_parallel_calls=2).batch(15).prefetch(2)
        clock = OwnClock()
        for _ in range(120):
            for images, labels in clock.batches(data):
                step(images, labels)
    clock.print()


if __name__ == "__main__":
    main()
