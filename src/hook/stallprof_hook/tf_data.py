# SPDX-License-Identifier: MIT
"""tf.data in eager code (TensorFlow 2.x): pipelines, iterators and every get-next of theirs. Inside
a tf.function a get-next is an operation of a graph and takes no time when Python meets it: those are
seen from outside (src/sampler/perf/get_next_watch.h)."""
import weakref

from . import events
from .events import Around, ByIdentity, FetchClock, now, put, stamp
from .parts import PARTIAL, Part, Parts, report

PARTS = Parts(
    'tf_data',
    Part('fetches', 'batches, and the time that is waited for them', 'context.executing_eagerly()',
         'OwnedIterator.__init__(self, dataset)', 'OwnedIterator._next_internal(self)'),
    Part('optionals', "batches of tf.distribute's data sets", 'OwnedIterator.get_next_as_optional(self)'),
    Part('pipelines', 'the stages of a pipeline', held=('_inputs',)))

_loaders = ByIdentity()   # numbers of data sets
_count = {'loader': 0, 'epoch': 0}
_MAX_STAGES = 64    # of a pipeline that are read; of longer ones the last count
_AUTOTUNE = -1
_SILENT = ('Options', 'Model')   # stages that no program writes


_LOAD = 3   # event/vocabulary.h, Phase


class Going(weakref.ref):
    """An iterator that nobody holds any more, and since when."""
    __slots__ = ('since',)


def _goes(going):
    try:
        going.since = now()
    except TypeError:   # the interpreter goes, too
        pass


class Epoch:
    """What we keep with an iterator: the last thing in it, and so the last that goes when it does.
    What goes before is TensorFlow's own, which stops the pipeline's threads and waits for them."""
    __slots__ = ('loader', 'number', 'batches', 'clock', 'going', 'optional')

    def __init__(self, loader, iterator):
        _count['epoch'] += 1
        self.loader, self.number, self.batches, self.optional = loader, _count['epoch'], 0, None
        self.clock = FetchClock()
        self.going = Going(iterator, _goes)
        self.going.since = None

    def __del__(self):
        try:
            self.put_optional(None)
            begin = self.going.since
            if begin is not None:
                put(events.PHASE_SPAN, begin, now() - begin, _LOAD, events.BY_HOOK,
                    'tf.data iterator', '', 0)
        except BaseException:   # the interpreter goes, too: nothing of ours may be printed
            pass

    def put_optional(self, fetch):
        """A get-next whose answer may hold no batch; to ask it would run an operation. What is done next with the
        iterator says it: tf.distribute ends an epoch by one that fails."""
        before, self.optional = self.optional, None
        if before is not None:
            self.put(*before)
        self.optional = fetch

    def put(self, at, duration, cpu, process_cpu, succeeded, size):
        if succeeded:
            self.put_optional(None)
        elif self.optional is not None:
            (at, duration, cpu, process_cpu, _, _), self.optional = self.optional, None
        batch = self.batches if succeeded else -1
        self.batches += succeeded
        put(events.FETCH, at, self.loader, self.number, duration, cpu, batch, -1, -1,
            not succeeded, process_cpu, size)


def _pass_of(iterator):
    return getattr(iterator, '__dict__', {}).get('_stallprof')


# ---- pipelines ----------------------------------------------------------------------------------

def _number_of(dataset):
    number = _loaders.get(dataset)
    if number is None:
        _count['loader'] += 1
        number = _loaders.put(dataset, _count['loader'])
        _announce(number, dataset)
    return number


def _announce(number, dataset):
    events.announce('tensorflow')
    found = settings(dataset)
    if 'DataService' in found['pipeline']:
        report('tf_data.service', PARTIAL, 'batches come from a tf.data service: what its workers do is not '
                                           'seen, only the wait for them')
    file, line = events.user_line('tensorflow', 'keras', 'tf_keras')
    put(events.LOADER_SEEN, now(), number, 'tf.data',
        'auto' if found['batch_size'] > 0 else 'none', '', found['pipeline'], 0, found['prefetch'],
        found['batch_size'], -1, False, False, True, True, file, line)


def settings(dataset):
    """From the last stage to the first: attributes of Python objects, nothing is run but the
    reading of constants. `pipeline` is the stages as a program would write them, with the number
    of calls at once and the buffers' sizes: Range.ParallelMap(2).Cache.Batch(8).Prefetch(auto)."""
    found, stages, waiting = {'batch_size': -1, 'prefetch': 0}, [], [dataset]
    while waiting and len(stages) < _MAX_STAGES and PARTS.complete('pipelines', waiting[-1]):
        stage = waiting.pop()
        name = type(stage).__name__.strip('_').replace('Dataset', '')
        size = _number_in(stage, name)
        if name == 'Prefetch' and not found['prefetch']:
            found['prefetch'] = size
        elif name.endswith('Batch') and found['batch_size'] < 0:
            found['batch_size'] = size
        if name not in _SILENT:
            text = 'auto' if size == _AUTOTUNE else str(size)
            stages.append(name if size is None else '%s(%s)' % (name, text))
        waiting += stage._inputs()
    return dict(found, pipeline='.'.join(reversed(stages)))


def _number_in(stage, name):
    """The one that matters of a stage; None: it has none."""
    own = stage.__dict__
    which = '_batch_size' if name.endswith('Batch') else \
        '_buffer_size' if name in ('Prefetch', 'Shuffle') else '_num_parallel_calls'
    return _constant(own[which]) if own.get(which) is not None else None


def _constant(value):
    """Of an eager tensor or a number."""
    return int(value.numpy() if hasattr(value, 'numpy') else value)


# ---- iterators ----------------------------------------------------------------------------------

def install(module):
    """`module` is tensorflow.python.data.ops.iterator_ops, just executed."""
    def eagerly():
        return module.context.executing_eagerly()

    def making(args, kwargs):
        dataset = args[1] if len(args) > 1 else (kwargs or {}).get('dataset')
        return (dataset, stamp()) if dataset is not None and eagerly() else None

    def made(token, args, result, succeeded):
        dataset, (at, cpu) = token
        if not succeeded:
            return
        end, cpu_end = stamp()
        state = args[0].__dict__['_stallprof'] = Epoch(_number_of(dataset), args[0])
        put(events.ITERATOR_BEGIN, at, state.loader, state.number, 0, end - at, cpu_end - cpu,
            False)

    def next_begins(args, kwargs):
        state = _pass_of(args[0]) if eagerly() else None
        return (state, state.clock.begin()) if state is not None else None

    def next_done(token, args, result, succeeded):
        state, begun = token
        *used, read = state.clock.end(begun, succeeded)
        state.put(*used, succeeded, batch_bytes(result) if succeeded and read else -1)

    def optional_done(token, args, result, succeeded):
        state, begun = token
        *used, _ = state.clock.end(begun, succeeded)
        if succeeded:
            state.put_optional((*used, True, -1))

    PARTS.install(module, {
        'OwnedIterator.__init__': lambda make: Around(make, making, made),
        'OwnedIterator._next_internal': lambda step: Around(step, next_begins, next_done),
        'OwnedIterator.get_next_as_optional': lambda step: Around(step, next_begins, optional_done)})


def batch_bytes(batch):
    """Bytes of the eager tensors in a batch, by exact types; -1: not known."""
    total, parts = 0, [batch]
    for _ in range(64):
        if not parts:
            break
        part = parts.pop()
        if type(part).__name__ == 'EagerTensor':
            total += part._num_elements() * part.dtype.size
        elif isinstance(part, tuple) or type(part) is list:
            parts.extend(part)
        elif type(part) is dict:
            parts.extend(part.values())
    return total if total and not parts else -1
