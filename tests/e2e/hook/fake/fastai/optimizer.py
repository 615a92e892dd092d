# SPDX-License-Identifier: MIT


class Optimizer:
    """fastai's own: none of torch's."""

    def step(self, closure=None):
        pass
