# SPDX-License-Identifier: MIT
"""An array as one of NumPy says what it is."""


class Array:
    __module__ = 'numpy'
    dtype = 'f4'

    def __init__(self, *shape):
        self.shape = shape
