# SPDX-License-Identifier: MIT
"""As much of TensorFlow as its adapter touches: eager iterators, and graphs that are lists of
functions run in order. So the adapter is tested where there is no TensorFlow."""
from .python.eager import context
from .python.framework import ops

__version__ = '2.0.fake'


class Tensor:
    """What an operation will have computed once its graph has run."""
    value = None


def operation(compute):
    out = Tensor()

    def run():
        out.value = compute()
    if context.executing_eagerly():
        run()
    else:
        ops.get_default_graph().operations.append(run)
    return out


from .python.data.ops import iterator_ops  # noqa: E402,F401
