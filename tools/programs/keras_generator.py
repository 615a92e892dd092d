# SPDX-License-Identifier: MIT
"""Keras' fit() on a generator of the program's own, nothing made ahead: the graph of each step waits for
it. One clock is read when the generator is asked, another when the graph has the batch."""
import time

import keras
import numpy
import tensorflow as tf

from own_clock import OwnClock

STEPS, SIDE = 900, 32
HAD = tf.Variable(0.0, dtype=tf.float64, trainable=False)   # when the graph got its latest batch


class Timed(keras.callbacks.Callback):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def on_train_batch_begin(self, batch, logs=None):
        self.clock.step()

    def on_train_batch_end(self, batch, logs=None):
        self.clock.stop()
        self.clock.spans.append(("data", self.clock.asked, float(HAD) + time.monotonic() - time.time()))


class Model(keras.Sequential):
    def train_step(self, data):
        with tf.control_dependencies(tf.nest.flatten(data)):
            had = HAD.assign(tf.timestamp())
        with tf.control_dependencies([had]):
            data = tf.nest.map_structure(tf.identity, data)
        return super().train_step(data)


def batches(clock):
    random = numpy.random.default_rng(1)
    base = random.standard_normal((256, 2 * SIDE, 2 * SIDE, 3))
    for _ in range(STEPS):
        clock.asked = time.monotonic()
        chosen = base[random.integers(0, 256, 32)]
        for _ in range(3):   # a blur, axis by axis
            chosen = (chosen + numpy.roll(chosen, 1, 1) + numpy.roll(chosen, 1, 2)) / 3
        images = chosen[:, ::2, ::2].astype("f4")
        yield images, random.integers(0, 10, 32)


def main():
    clock = OwnClock()
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = tf.data.Dataset.from_generator(lambda: batches(clock), output_signature=(
        tf.TensorSpec((32, SIDE, SIDE, 3), tf.float32), tf.TensorSpec((32,), tf.int64))).with_options(options)
    model = Model([keras.layers.Conv2D(64, 5, 1, activation="relu"), keras.layers.MaxPooling2D(4),
                   keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    model.fit(data, epochs=1, steps_per_epoch=STEPS, verbose=0, callbacks=[Timed(clock)])
    clock.print()


if __name__ == "__main__":
    main()
