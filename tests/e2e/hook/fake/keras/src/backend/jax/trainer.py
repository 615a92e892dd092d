# SPDX-License-Identifier: MIT
from .. import config  # noqa: F401


class JAXTrainer:
    def __init__(self):
        self.train_function, self.steps_per_execution = None, 1

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = lambda state, iterator: next(iterator)

    def fit(self, steps):
        self.make_train_function()
        iterator = iter(range(steps))
        for _ in range(steps):
            self.train_function((), iterator)
