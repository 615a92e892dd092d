# SPDX-License-Identifier: MIT
import time

from ...eager import context
from ...framework import ops


class Scalar:
    def __init__(self, value):
        self.numpy = lambda: value


class Dataset:
    """`batches` elements that each take `seconds`."""

    def __init__(self, batches, seconds):
        self.batches, self.seconds = batches, seconds

    def _inputs(self):
        return []

    def cardinality(self):
        return Scalar(self.batches)

    def __iter__(self):
        return OwnedIterator(self)


class Stage(Dataset):
    def __init__(self, inner, **constants):
        super().__init__(inner.batches, inner.seconds)
        self._inner = inner
        self.__dict__.update(constants)

    def _inputs(self):
        return [self._inner]


class RangeDataset(Dataset):
    pass


class FilterDataset(Dataset):
    def cardinality(self):
        return Scalar(-2)   # UNKNOWN_CARDINALITY


class _ParallelMapDataset(Stage):
    pass


class CacheDataset(Stage):
    pass


class _BatchDataset(Stage):
    pass


class _PrefetchDataset(Stage):
    pass


class _OptionsDataset(Stage):
    pass


class Resource:
    """What stops a pipeline's threads when it goes."""

    def __del__(self):
        time.sleep(0.02)


class Optional:
    def __init__(self, value):
        self.value = value


class OwnedIterator:
    def __init__(self, dataset=None, components=None, element_spec=None):
        self.dataset = self._dataset = dataset
        self._iterator_resource = Resource()
        self.at = 0

    def __iter__(self):
        return self

    def _element(self):
        if self.at == self.dataset.batches:
            raise IndexError('out of range')
        time.sleep(self.dataset.seconds)
        self.at += 1
        return self.at

    def _next_internal(self):
        if context.executing_eagerly():
            return self._element()
        import tensorflow
        graph = ops.get_default_graph()   # whose argument is another iterator at each call
        return tensorflow.operation(lambda: graph.argument._element())

    def __next__(self):
        try:
            return self._next_internal()
        except IndexError:
            raise StopIteration

    def get_next(self):
        return self._next_internal()

    def get_next_as_optional(self):
        try:
            return Optional(self._element())
        except IndexError:
            return Optional(None)
