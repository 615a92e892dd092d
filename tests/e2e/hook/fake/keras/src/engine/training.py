# SPDX-License-Identifier: MIT


class Variable:
    def __init__(self, value):
        self.value = value

    def numpy(self):
        return self.value


class Model:
    """Keras 2's: fit keeps what make_train_function returns, and sets how many steps each call makes."""

    def __init__(self, steps_per_execution=1):
        self.train_function, self._steps_per_execution = None, Variable(steps_per_execution)

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = lambda steps: self._steps_per_execution.numpy()
        return self.train_function

    def fit(self, steps, epochs):
        self.train_function = self.make_train_function()
        many = self._steps_per_execution.value
        for _ in range(epochs):
            for first in range(0, steps, many):
                self._steps_per_execution.value = min(many, steps - first)
                self.train_function(steps)
        self._steps_per_execution.value = many
