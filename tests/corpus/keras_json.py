# SPDX-License-Identifier: MIT
"""A custom loop of TensorFlow over a generator, which decodes baskets of a shop from lines of JSON."""
import json
import random

import numpy
import tensorflow as tf

from corpus import OwnClock, batches, has, level

CAUSES = {"json": ("transform", ["transform.in_process", "transform.slow_op", "transform.gil_bound",
                                 "transform.too_few_workers"])}
BATCH, ITEMS, FEATURES = 64, level(90, 140, 320), 256


def write_baskets(count):
    random.seed(1)
    for number in range(count):
        items = [{"sku": random.randrange(10 ** 6), "price": round(random.uniform(1, 90), 2),
                  "count": random.randint(1, 4), "name": f"article {i}"} for i in range(ITEMS)]
        yield json.dumps({"basket": number, "returned": number % 2, "items": items})


def basket(line):
    decoded, spent = json.loads(line), numpy.zeros(FEATURES, "f4")
    for item in decoded["items"]:
        spent[item["sku"] % FEATURES] += item["price"] * item["count"]
    return spent / 100, decoded["returned"]


class Shop(tf.Module):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([tf.keras.Input((FEATURES,)), tf.keras.layers.Dense(1300, "gelu"),
                                        tf.keras.layers.Dense(1300, "gelu"), tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)

    @tf.function
    def train_step(self, inputs, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.net(inputs)))
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    lines = list(write_baskets(BATCH * 8))
    ready = None if has("json") else [basket(line) for line in lines]

    def generate():
        for first in list(range(0, len(lines), BATCH)) * 10:
            rows = ready[first:first + BATCH] if ready else [basket(line) for line in lines[first:first + BATCH]]
            yield numpy.stack([spent for spent, _ in rows]), numpy.array([returned for _, returned in rows])

    data = tf.data.Dataset.from_generator(generate, output_signature=(tf.TensorSpec((None, FEATURES), tf.float32),
                                                                      tf.TensorSpec((None,), tf.int64)))
    shop, clock = Shop(), OwnClock()
    for inputs, labels in batches(clock, data.prefetch(2)):
        shop.train_step(inputs, labels).numpy()
    clock.print()


if __name__ == "__main__":
    main()
