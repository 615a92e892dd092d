# SPDX-License-Identifier: MIT
"""Keras' fit() on a generator of the program's own, nothing made ahead: the graph of each step waits
for the generator, which knows how long it takes."""
import time

import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock

STEPS, SIDE = 500, 32   # small batches that are much work, so that handing them over is little


class Timed(keras.callbacks.Callback):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def on_train_batch_begin(self, batch, logs=None):
        self.clock.step()

    def on_train_batch_end(self, batch, logs=None):
        self.clock.stop()


def batches(clock):
    random = numpy.random.default_rng(1)
    base = random.standard_normal((256, 2 * SIDE, 2 * SIDE, 3))
    for _ in range(STEPS):
        begin = time.monotonic()
        chosen = base[random.integers(0, 256, 32)]
        for _ in range(3):   # a blur, axis by axis
            chosen = (chosen + numpy.roll(chosen, 1, 1) + numpy.roll(chosen, 1, 2)) / 3
        images = chosen[:, ::2, ::2].astype("f4")
        clock.spans.append(("data", begin, time.monotonic()))
        yield images, random.integers(0, 10, 32)


def main():
    clock = OwnClock()
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = tf.data.Dataset.from_generator(lambda: batches(clock), output_signature=(
        tf.TensorSpec((32, SIDE, SIDE, 3), tf.float32), tf.TensorSpec((32,), tf.int64))).with_options(options)
    model = keras.Sequential([keras.layers.Conv2D(64, 5, 1, activation="relu"), keras.layers.MaxPooling2D(4),
                              keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data, epochs=1, steps_per_epoch=STEPS, verbose=0, callbacks=[Timed(clock)])
    clock.print()


if __name__ == "__main__":
    main()
