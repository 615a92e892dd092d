# SPDX-License-Identifier: MIT
"""torch.utils.data's fetcher of map-style data sets (1.13 to 2.x): samples that take far longer than
the others, by index and file, in the process that makes them. What is done for each sample is
native (src/hook/samples.c); the code below runs once a fetcher, and for a batch with a slow sample.

Data sets that make a batch at once (__getitems__) have no times of single samples.
"""
import os
import weakref
from pathlib import PurePath

from . import _stallprof_events as native, events
from .events import Around, ByIdentity, put
from .parts import Part, Parts

PARTS = Parts(
    'torch_samples',
    Part('samples', 'which samples are slow',
         '_BaseDatasetFetcher.__init__(self, dataset, auto_collation)',
         '_MapDatasetFetcher.fetch(self, possibly_batched_index)'))
_SUBSET = 'torch.utils.data.dataset', 'Subset'
_known = ByIdentity()   # SampleTimes of data sets
_DEEP = 4   # subsets of subsets that are followed
# What finds a name in the object itself; a proxy's asks another.
_PLAIN = {kind.__getattribute__ for kind in (object, list, tuple, dict, str)}


def _fields(thing):
    """What an object holds, without any code of the user's."""
    try:
        return object.__getattribute__(thing, '__dict__')
    except AttributeError:
        return {}


def _is_subset(dataset):
    return (type(dataset).__module__, type(dataset).__qualname__) == _SUBSET


def _one_by_one(dataset):
    for _ in range(_DEEP):
        if not _is_subset(dataset):
            break
        dataset = _fields(dataset).get('dataset')   # its __getitems__ takes them one by one, too
    kind = type(dataset)   # torch asks the object: one that passes names on to another may have it, too
    return getattr(kind, '__getitems__', None) is None and not hasattr(kind, '__getattr__') \
        and kind.__getattribute__ in _PLAIN and '__getitems__' not in _fields(dataset)


def _fetcher_made(fetcher, args, result, succeeded):
    held = _fields(fetcher)
    if succeeded and type(fetcher).__name__ == '_MapDatasetFetcher' and held.get('auto_collation') \
            and _one_by_one(held.get('dataset')):
        fetcher._stallprof = _times_of(held['dataset'])


def _times_of(dataset):
    """Fetchers come and go with epochs; what is known of a data set's samples stays."""
    times = _known.get(dataset)
    if times is None:
        try:
            times = _known.put(dataset, native.SampleTimes(_Report(weakref.ref(dataset))))
        except TypeError:   # no weak references: while this fetcher lives
            times = native.SampleTimes(_Report(lambda: dataset))
    return times


class _Report:
    def __init__(self, dataset):
        self.dataset = dataset   # (): the data set

    def __call__(self, at, duration, index, samples, slow, median, excess):
        name = index if type(index) is str else file_of(self.dataset(), index)
        put(events.SLOW_SAMPLES, at, duration, index if type(index) is int else -1, name, samples,
            slow, median, excess)


def file_of(dataset, index):
    """The file that a list of the data set names at this index (torchvision's `samples`, a list of
    paths); '' where there is none."""
    fields = _fields(dataset)
    for _ in range(_DEEP):
        if not _is_subset(dataset) or not _within(index, fields.get('indices')):
            break
        index, dataset = fields['indices'][index], fields.get('dataset')
        fields = _fields(dataset)
    for value in list(fields.values()):
        path = _path(value[index]) if _within(index, value) else ''
        if path:
            return path
    return ''


def _within(index, items):
    return type(index) is int and type(items) in (list, tuple) and 0 <= index < len(items)


def _path(item):
    if type(item) in (tuple, list) and item:
        item = item[0]
    if isinstance(item, PurePath) and type(item).__module__.startswith('pathlib'):
        item = str(item)
    is_path = type(item) is str and (os.sep in item or os.path.splitext(item)[1])
    return item if is_path and ' ' not in item and len(item) < 4096 else ''


def install(module):
    """`module` is torch.utils.data._utils.fetch, just executed."""
    PARTS.install(module, {
        '_BaseDatasetFetcher.__init__': lambda made: Around(made, None, _fetcher_made),
        '_MapDatasetFetcher.fetch': native.around_fetch})
