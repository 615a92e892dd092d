# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into a compiled step that takes its batch itself, as Keras' does: clocks
of the program's own stand around that inside its graph."""
import pathlib
import tempfile
import time

import keras
import tensorflow as tf

import tf_images
from own_clock import OwnClock


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    return tf.image.resize(image, (96, 96), "bicubic") / 255, tf.strings.length(path) % 10


def main():
    model = tf_images.classifier(16)
    optimizer = keras.optimizers.Adam()
    loss = tf_images.loss()

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
        tf_images.make(pathlib.Path(folder), 200, 320)
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
