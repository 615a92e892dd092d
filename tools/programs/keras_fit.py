# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into Keras' fit(), with validation and a checkpoint each epoch."""
import pathlib
import tempfile

import keras
import tensorflow as tf

import tf_images
from keras_timed import Timed


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    image = tf.image.resize(tf.image.random_flip_left_right(image), (96, 96))
    return image / 255, tf.strings.length(path) % 10


class TimedTests(Timed):
    def on_test_begin(self, logs=None):
        self.testing = self.clock.during("periodic")
        self.testing.__enter__()

    def on_test_end(self, logs=None):
        self.testing.__exit__(None, None, None)


class Checkpoint(keras.callbacks.ModelCheckpoint):
    def __init__(self, path, clock):
        super().__init__(path)
        self.clock = clock

    def on_epoch_end(self, epoch, logs=None):
        with self.clock.during("periodic"):
            super().on_epoch_end(epoch, logs)


def main():
    with tempfile.TemporaryDirectory() as folder:
        tf_images.make(pathlib.Path(folder), 400, 160)
        files = tf.data.Dataset.list_files(folder + "/*.jpg", seed=1)
        data = files.map(decode, num_parallel_calls=2).batch(20).prefetch(2)
        model = tf_images.classifier()
        model.compile("adam", tf_images.loss())
        timed = TimedTests()
        model.fit(data, epochs=60, validation_data=data.take(4), verbose=2,
                  callbacks=[timed, Checkpoint(folder + "/model.keras", timed.clock)])
    timed.clock.print()


if __name__ == "__main__":
    main()
