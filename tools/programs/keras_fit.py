# SPDX-License-Identifier: MIT
"""JPEG files through tf.data into Keras' fit(), with validation and a checkpoint each epoch."""
import pathlib
import tempfile

import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock


def make(folder, count=400, side=160):
    random = numpy.random.default_rng(1)
    for i in range(count):
        noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1").repeat(8, 0).repeat(8, 1)
        (folder / f"{i:05}.jpg").write_bytes(tf.io.encode_jpeg(noise).numpy())


def decode(path):
    image = tf.image.decode_jpeg(tf.io.read_file(path), 3)
    image = tf.image.resize(tf.image.random_flip_left_right(image), (96, 96))
    return image / 255, tf.strings.length(path) % 10


class Timed(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.clock = OwnClock(tells=("periodic",))

    def on_train_batch_begin(self, batch, logs=None):
        self.clock.step()

    def on_train_batch_end(self, batch, logs=None):
        self.clock.stop()

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
        make(pathlib.Path(folder))
        files = tf.data.Dataset.list_files(folder + "/*.jpg", seed=1)
        data = files.map(decode, num_parallel_calls=2).batch(20).prefetch(2)
        model = keras.Sequential([keras.layers.Conv2D(8, 5, 2, activation="relu"), keras.layers.MaxPooling2D(4),
                                  keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        timed = Timed()
        model.fit(data, epochs=60, validation_data=data.take(4), verbose=2,
                  callbacks=[timed, Checkpoint(folder + "/model.keras", timed.clock)])
    timed.clock.print()


if __name__ == "__main__":
    main()
