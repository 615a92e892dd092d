# SPDX-License-Identifier: MIT
from types import SimpleNamespace

from ...eager import context  # noqa: F401
from .iterator_ops import Dataset


class Options:
    def __init__(self):
        self.threading = SimpleNamespace(private_threadpool_size=None)


options_lib = SimpleNamespace(Options=Options)


class DatasetV2(Dataset):
    """`constants` are the stage's own attributes."""

    def __init__(self, inner, name='RangeDataset', **constants):
        super().__init__(inner.batches, inner.seconds)
        self._inner = self._input_dataset = inner
        self.__dict__.update(constants)
        self.__class__ = type(name, (type(self),), {})

    def _inputs(self):
        return [self._inner] if isinstance(self._inner, DatasetV2) else []

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None):
        name = 'MapDataset' if num_parallel_calls is None else 'ParallelMapDataset'
        return DatasetV2(self, name, _num_parallel_calls=num_parallel_calls)

    def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None):
        return DatasetV2(self, 'InterleaveDataset', _num_parallel_calls=num_parallel_calls)

    def prefetch(self, buffer_size):
        return DatasetV2(self, 'PrefetchDataset', _buffer_size=buffer_size)

    def options(self):
        return getattr(self, 'own', Options())

    def with_options(self, own):
        return DatasetV2(self, 'OptionsDataset', own=own)

    def __iter__(self):
        return super().__iter__()
