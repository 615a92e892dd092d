# SPDX-License-Identifier: MIT
"""As much of TensorFlow as its adapter touches: eager iterators, and graphs that are lists of
functions run in order. So the adapter is tested where there is no TensorFlow."""
import contextlib
import time

from .python.eager import context
from .python.framework import ops

__version__ = '2.0.fake'
float64 = 'float64'


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


class Variable:
    def __init__(self, value, dtype, trainable):
        assert context.executing_eagerly(), 'a variable made inside a graph'
        self.value = value

    def assign(self, tensor):
        def store():
            self.value = [t.value for t in tensor.value]
        return operation(store)

    def numpy(self):
        return self.value


def timestamp():
    return operation(time.time)


def stack(tensors):
    return operation(lambda: tensors)


@contextlib.contextmanager
def init_scope():
    kept, ops.graphs[:] = list(ops.graphs), []
    yield
    ops.graphs[:] = kept


@contextlib.contextmanager
def control_dependencies(tensors):
    ops.get_default_graph().depth += 1
    yield
    ops.get_default_graph().depth -= 1


@contextlib.contextmanager
def device(name):
    yield


class nest:
    @staticmethod
    def flatten(structure, expand_composites=False):
        return [structure]


from .python.data.ops import iterator_ops  # noqa: E402,F401
