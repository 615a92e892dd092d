# SPDX-License-Identifier: MIT
"""The worst program there is for a reader that does not stop it: calls that last a microsecond, at
the end of a recursion. `hot_a` never calls `leaf_b`, and there are exactly argv[1] + 1 `deep`s."""
import sys


def leaf_a():
    return sum(range(50))


def leaf_b():
    return sum(range(50))


def hot_a():
    return leaf_a()


def hot_b():
    return leaf_b()


def deep(n):
    if n:
        return deep(n - 1)
    print('ready', flush=True)
    while True:
        hot_a()
        hot_b()


deep(int(sys.argv[1]))
