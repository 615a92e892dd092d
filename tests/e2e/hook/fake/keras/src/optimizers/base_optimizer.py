# SPDX-License-Identifier: MIT
import tensorflow as tf


class BaseOptimizer:
    def __init__(self):
        self.applied = 0

    def apply(self, gradients):
        def update():
            self.applied += 1
        tf.operation(update)


class Scaled(BaseOptimizer):
    """One inside another, as a loss scale's."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def apply(self, gradients):
        self.inner.apply(gradients)
