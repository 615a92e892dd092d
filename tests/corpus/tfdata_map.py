# SPDX-License-Identifier: MIT
"""A tf.data pipeline that distorts its images one after the other, with nothing made ahead."""
import tensorflow

from corpus import OwnClock, batches, has, level

CAUSES = {
    "distort": ("transform", ["transform.in_process", "transform.too_few_workers", "transform.slow_op", "transform.cpu_saturated"]),
    "serial": ("transform", ["transform.in_process", "transform.too_few_workers", "transform.cpu_saturated"]),
}
SIDE = 32


def distorted(image, label):
    for _ in range(level(1, 4, 20)):
        image = tensorflow.image.adjust_saturation(tensorflow.image.adjust_hue(image, 0.02), 1.1)
    return tensorflow.image.resize(image, (16, 16)), label


def main():
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    images = tensorflow.random.uniform((128, SIDE, SIDE, 3))
    data = tensorflow.data.Dataset.from_tensor_slices((images, tensorflow.range(128) % 10))
    data = data.map(distorted, None if has("serial") else tensorflow.data.AUTOTUNE)
    data = (data if has("distort") else data.cache()).batch(32).repeat(8)
    data = data if has("serial") else data.prefetch(4)
    model = tensorflow.keras.Sequential([tensorflow.keras.layers.Flatten(), tensorflow.keras.layers.Dense(1000, "relu"),
                                         tensorflow.keras.layers.Dense(1000, "relu"), tensorflow.keras.layers.Dense(10)])
    loss_of = tensorflow.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tensorflow.keras.optimizers.SGD(0.01)

    @tensorflow.function
    def step(inputs, labels):
        with tensorflow.GradientTape() as tape:
            loss = loss_of(labels, model(inputs))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    clock = OwnClock()
    for inputs, labels in batches(clock, data):
        step(inputs, labels).numpy()
    clock.print()


if __name__ == "__main__":
    main()
