# SPDX-License-Identifier: MIT
"""A loop of the program's own under tf.distribute.MirroredStrategy, over a distributed data set."""
import json
import os

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

SAMPLES, BATCH, EPOCHS = 3200, 32, 3


def main():
    strategy = tf.distribute.MirroredStrategy(['/cpu:0'])
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(256), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.01)
    data = tf.data.Dataset.from_tensor_slices((tf.random.normal([SAMPLES, 8]), tf.random.normal([SAMPLES, 1])))
    data = strategy.experimental_distribute_dataset(data.batch(BATCH))

    def update(batch):
        inputs, targets = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function
    def step(batch):
        return strategy.reduce('MEAN', strategy.run(update, args=(batch,)), axis=None)

    for _ in range(EPOCHS):
        for batch in data:
            step(batch)
    print(json.dumps({'steps': EPOCHS * SAMPLES // BATCH}))


if __name__ == '__main__':
    main()
