# SPDX-License-Identifier: MIT
"""An array as one of NumPy says what it is."""


class Array:
    __module__ = 'numpy'
    dtype = 'f4'

    def __init__(self, *shape):
        self.shape = shape


class Kind:
    """As float32 is by itself: it has a shape, that of one value, and no kind."""
    __module__ = 'numpy.dtypes'
    shape = ()
