# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into a compiled step that takes its batch itself, as Keras' does: clocks
of the program's own stand around that inside its graph."""
import pathlib
import tempfile
import time

import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock


def make(folder, count=200, side=320):
    random = numpy.random.default_rng(1)
    for i in range(count):
        noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1").repeat(8, 0).repeat(8, 1)
        (folder / f"{i:05}.jpg").write_bytes(tf.io.encode_jpeg(noise).numpy())


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    return tf.image.resize(image, (96, 96), "bicubic") / 255, tf.strings.length(path) % 10


def main():
    model = keras.Sequential([keras.layers.Conv2D(16, 5, 2, activation="relu"), keras.layers.MaxPooling2D(4),
                              keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(iterator):
        begin = tf.timestamp()
        with tf.control_dependencies([begin]):
            images, labels = iterator.get_next()
        with tf.control_dependencies([images]):
            end = tf.timestamp()
        with tf.control_dependencies([end]):   # else the step computes while its clock waits for a core
            images = tf.identity(images)
        with tf.GradientTape() as tape:
            error = loss(labels, model(images, training=True))
        gradients = tape.gradient(error, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return begin, end

    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = tf.data.Dataset.list_files(folder + "/*.jpg", seed=1).repeat()
        iterator = iter(files.map(decode, num_parallel_calls=2).batch(16, drop_remainder=True).prefetch(2))
        clock = OwnClock()
        for _ in range(3000):
            clock.step()
            begin, end = step(iterator)
            shift = time.monotonic() - time.time()
            clock.spans.append(("data", float(begin) + shift, float(end) + shift))
        clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
