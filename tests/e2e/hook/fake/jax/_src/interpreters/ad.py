# SPDX-License-Identifier: MIT
from jax._src import core


def linearize(function, *args):
    return function(*args)


def gradient(function, *args):
    """In a compiled run there is none of this left."""
    return function(*args) if core.running else __import__('sys').modules[__name__].linearize(function, *args)
