# SPDX-License-Identifier: MIT
"""Keras: fit() with an update a call, with four a call, and with a train_step of the program's own.

usage: keras_fit.py keras|tf_keras      tf_keras is Keras 2; the backend of keras is by KERAS_BACKEND"""
import importlib
import json
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np  # noqa: E402

keras = importlib.import_module(sys.argv[1])
SAMPLES, BATCH, EPOCHS = 3200, 32, 2


def model_of():
    return keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(256, activation='relu'),
                             keras.layers.Dense(1)])


def own_step():
    import tensorflow as tf

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

        def train_step(self, data):
            inputs, targets = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(inputs, training=True) - targets) ** 2)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            return {'loss': loss}
    return Own()


def main():
    inputs = np.random.rand(SAMPLES, 64).astype('float32')
    targets = np.random.rand(SAMPLES, 1).astype('float32')
    steps = 0

    def fit(model, optimizer, **how):
        nonlocal steps
        model.compile(optimizer=optimizer, loss='mse', **how)
        model.fit(inputs, targets, batch_size=BATCH, epochs=EPOCHS, verbose=0)
        steps += EPOCHS * SAMPLES // BATCH

    fit(model_of(), 'adam')
    fit(model_of(), 'sgd', steps_per_execution=4)
    if sys.argv[1] == 'tf_keras':
        fit(model_of(), keras.optimizers.legacy.SGD(0.01))
    if os.environ.get('KERAS_BACKEND', 'tensorflow') == 'tensorflow':
        fit(own_step(), 'sgd')
    print(json.dumps({'steps': steps}))


if __name__ == '__main__':
    main()
