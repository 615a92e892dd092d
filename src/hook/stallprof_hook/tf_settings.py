# SPDX-License-Identifier: MIT
"""`run --set` for tf.data and Keras: calls at once in Dataset.map and interleave, what is made ahead and by how many
threads where an iterator is made of a pipeline, and the threads of a Keras PyDataset.

Batches keep the order that the program gave them: tf.data's own default, and PyDataset's. A function that draws random
numbers inside a map draws them in another order where it runs in parallel.
"""
import os

from . import events
from .events import Around
from .parts import Part, Parts

if os.environ.get('STALLPROF_OVERRIDES'):
    from . import overrides
    asked = overrides.others
else:
    asked = {}

_DATASET = 'tensorflow.python.data.ops.dataset_ops'
PIPELINES = Parts('tf_settings', Part(
    'pipelines', 'settings of tf.data',
    'DatasetV2.map(self, map_func, num_parallel_calls)',
    'DatasetV2.interleave(self, map_func, cycle_length, block_length, num_parallel_calls)',
    'DatasetV2.__iter__(self)'))
SEQUENCES = Parts('tf_settings', Part('sequences', 'settings of PyDataset', 'PyDatasetAdapter.__init__(self, x)'))
_TUNED = '_stallprof_tuned'


def install(module):
    """`module` has tf.data's datasets, or Keras' adapter of PyDataset; just executed."""
    if module.__name__ != _DATASET:
        if 'workers' in asked or 'max_queue_size' in asked:
            SEQUENCES.install(module, {'PyDatasetAdapter.__init__': lambda make: Around(make, _adapting)})
        return
    around = {}
    if 'num_parallel_calls' in asked:
        around = {'DatasetV2.map': lambda function: Around(function, _parallel(function)),
                  'DatasetV2.interleave': lambda function: Around(function, _parallel(function))}
    if 'prefetch' in asked or 'private_threadpool_size' in asked:
        around['DatasetV2.__iter__'] = lambda function: Around(function, _iterated(module))
    if around:
        PIPELINES.install(module, around)


def _parallel(function):
    """Of a map that the program makes; those that libraries make for themselves stay."""
    names = function.__code__.co_varnames[:function.__code__.co_argcount]

    def begin(args, kwargs):
        file, line, library = events.user_call('tensorflow')
        given = dict(zip(names, args), **(kwargs or {}))
        if library or given.get('synchronous') or not overrides.is_meant(file, line):
            return None
        wanted = asked['num_parallel_calls']
        overrides.changed('num_parallel_calls', _number(given.get('num_parallel_calls')), wanted, file, line)
        given['num_parallel_calls'] = wanted
        return [args[:1], {name: value for name, value in given.items() if name != names[0]}]

    return begin


def _iterated(module):
    def begin(args, kwargs):
        dataset = args[0]
        file, line, _ = events.user_call('tensorflow', 'keras', 'tf_keras')
        if not overrides.is_meant(file, line):
            return None
        tuned = dataset.__dict__.get(_TUNED)
        if tuned is None:
            tuned = _tuned(module, dataset, file, line)
            if module.context.executing_eagerly():   # one of a graph is good in that graph alone
                dataset.__dict__[_TUNED] = tuned
        return (tuned,)

    return begin


def _tuned(module, dataset, file, line):
    """`dataset` with what is asked for at its end; a buffer that was there goes, its place is the new one's."""
    tuned, ahead, threads = dataset, asked.get('prefetch'), asked.get('private_threadpool_size')
    if ahead is not None:
        before = 0
        if type(dataset).__name__.strip('_') == 'PrefetchDataset' and hasattr(dataset, '_input_dataset'):
            before, tuned = _number(getattr(dataset, '_buffer_size', None)), dataset._input_dataset
        tuned = tuned.prefetch(ahead)
    if threads is not None:
        options = module.options_lib.Options()
        options.threading.private_threadpool_size = threads
        own = getattr(dataset.options().threading, 'private_threadpool_size', None)
        tuned = tuned.with_options(options)
        overrides.changed('private_threadpool_size', own, threads, file, line)
    if ahead is not None:
        overrides.changed('prefetch', before, ahead, file, line)
    return tuned


def _adapting(args, kwargs):
    """Before Keras makes the threads of this PyDataset."""
    sequence = args[1] if len(args) > 1 else (kwargs or {}).get('x')
    file, line, _ = events.user_call('keras', 'tf_keras', 'tensorflow')
    if sequence is None or not overrides.is_meant(file, line):
        return None
    for name in ('workers', 'max_queue_size'):
        if name in asked and hasattr(sequence, name):
            before = getattr(sequence, name)
            setattr(sequence, name, asked[name])
            overrides.changed(name, before, asked[name], file, line)
    return None


def _number(value):
    """Of a number, or of an eager tensor of one."""
    return int(value.numpy()) if hasattr(value, 'numpy') else value
