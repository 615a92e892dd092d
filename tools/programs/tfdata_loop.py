# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into a training loop of the program's own."""
import pathlib
import tempfile

import keras
import tensorflow as tf

import tf_images
from own_clock import OwnClock


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    return tf.image.resize(image, (96, 96), "bicubic") / 255, tf.strings.length(path) % 10


def main():
    model = tf_images.classifier()
    optimizer = keras.optimizers.SGD(0.01)
    loss = tf_images.loss()

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            error = loss(labels, model(images, training=True))
        gradients = tape.gradient(error, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    with tempfile.TemporaryDirectory() as folder:
        tf_images.make(pathlib.Path(folder), 300, 256)
        files = tf.data.Dataset.list_files(folder + "/*.jpg", seed=1)
        data = files.map(decode, num_parallel_calls=2).batch(15).prefetch(2)
        clock = OwnClock()
        for _ in range(120):
            for images, labels in clock.batches(data):
                step(images, labels)
    clock.print()


if __name__ == "__main__":
    main()
