# SPDX-License-Identifier: MIT
"""Keras' fit() on arrays in memory, with a checkpoint every few batches."""
import pathlib
import tempfile

import keras
import numpy

from keras_timed import Timed
from own_clock import WITHOUT


class Checkpoint(keras.callbacks.ModelCheckpoint):
    def __init__(self, path, clock):
        super().__init__(path, save_freq=5)
        self.clock = clock

    def on_train_batch_end(self, batch, logs=None):
        with self.clock.during("periodic"):
            super().on_train_batch_end(batch, logs)


def main():
    random = numpy.random.default_rng(1)
    images, labels = random.standard_normal((1600, 32, 32, 3), "f4"), random.integers(0, 10, 1600)
    model = keras.Sequential([keras.layers.Conv2D(16, 3, 2, activation="relu"), keras.layers.Flatten(),
                              keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    timed = Timed()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(pathlib.Path(folder, "model.keras"), timed.clock)
        model.fit(images, labels, batch_size=32, epochs=40, verbose=0,
                  callbacks=[timed] + [checkpoint] * (not WITHOUT))
    timed.clock.print()


if __name__ == "__main__":
    main()
