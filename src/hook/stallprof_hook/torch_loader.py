# SPDX-License-Identifier: MIT
"""torch.utils.data.DataLoader in the process that consumes it (1.13 to 2.x): loaders, epochs and
every next(). What it reads of an iterator are names that all those versions have. What is done
once a batch is native (src/hook/batches.h).

None of the callbacks below calls code of the user or of torch: an exception in them would be
hard to distinguish from one of theirs, and a lazily opened data set must not be opened by us.
"""
import sys
from types import SimpleNamespace

from . import _stallprof_events as native, events, torch_replay, torch_settings
from .events import Around, ByIdentity, mix, now, put, stamp
from .parts import Part, Parts, path_of


def table(adapter, loader, one, many, *of_all):
    """The parts of an adapter for a loader and its iterators, without and with workers, by their classes."""
    return Parts(
        adapter,
        Part('fetches', 'batches, and the time that is waited for them', one + '.__init__(self, loader)',
             many + '.__init__(self, loader)', *of_all, held=('_base_seed', '_dataset_kind')),
        Part('loaders', 'the lines that made loaders', loader + '.__init__(self, dataset, num_workers)'),
        Part('settings', 'loaders, their batches and the time that is waited for them',
             held=('dataset', 'num_workers', 'prefetch_factor', 'drop_last', 'pin_memory',
                   'persistent_workers', 'multiprocessing_context', '_dataset_kind')),
        Part('batching', 'how batches are drawn', held=('batch_size', 'batch_sampler', 'sampler')),
        Part('epochs', 'epochs of persistent workers', many + '._reset(self, loader)'),
        Part('owners', 'which worker made a batch', many + '._try_put_index(self)',
             held=('_task_info', '_send_idx', '_rcvd_idx', '_tasks_outstanding')),
        Part('order', 'which batch came, where they come in any order', many + '._get_data(self)'),
        Part('ready', 'how many batches lay ready', held=('_sem._semlock._get_value', '_maxsize')),
        Part('in_process', 'which batch it was, with no workers', held=('_num_yielded',)))


_CLASSES = 'DataLoader', '_SingleProcessDataLoaderIter', '_MultiProcessingDataLoaderIter'
_NEXT = '_BaseDataLoaderIter.__next__(self)'
PARTS = table('torch_loader', *_CLASSES, _NEXT)
# torchdata's StatefulDataLoader: torch's own loader, with copies of its iterators and of its worker loop
# that keep their state. Their next() is torch's.
_STATEFUL_CLASSES = ('StatefulDataLoader', '_StatefulSingleProcessDataLoaderIter',
                     '_StatefulMultiProcessingDataLoaderIter')
STATEFUL = table('torchdata_loader', *_STATEFUL_CLASSES)

_loaders = ByIdentity()   # numbers of loaders, by their workers, too: fastai takes single batches without
_count = {'loader': 0}


class _Epoch(native.Epoch):
    """What we keep with an iterator: identity of the current epoch and who owes which batch."""
    __slots__ = ('key', 'base', 'resumes', 'given')   # given: batches of this epoch (torch_replay)

    def __init__(self, loader):
        self.loader = loader
        self.key = self.base = self.resumes = 0

    def begin(self):
        events.passes[0] += 1
        self.number = events.passes[0]
        self.owners = {}
        self.given = 0


# ---- loaders ------------------------------------------------------------------------------------

def _number_of(loader):
    """The loader's number; one that is not known yet (made, or unpickled) is announced here. None: a property of the
    program's raises instead of saying how it is set."""
    settings = PARTS.read('settings', loader)
    if settings is None:
        return None
    number = _loaders.get(loader, settings['num_workers'])
    return _announce_loader(loader, SimpleNamespace(**settings)) if number is None else number


def _announce_loader(loader, settings):
    _count['loader'] += 1
    number = _loaders.put(loader, _count['loader'], settings.num_workers)
    events.announce('torch')
    inner = _inner(loader)
    held = None if inner else PARTS.read('batching', loader)
    batching = held and SimpleNamespace(**held)
    drawn, size = _batching(inner, batching)
    file, line, library = events.user_call('torch', 'torchdata')
    if not inner:   # fastai's is none that torch's constructor made, and its iter() goes around torch's iterators
        torch_replay.loader_made(number, loader, settings._dataset_kind, file, line)
    kind = 'torch.fastai' if inner else 'torch.StatefulDataLoader' if _is_stateful(loader) else 'torch.DataLoader'
    put(events.LOADER_SEEN, now(), number, kind, drawn,
        _start_method(settings), type(inner.get('dataset', settings.dataset)).__qualname__, settings.num_workers,
        -1 if not settings.num_workers else int(settings.prefetch_factor), size,
        _length(settings, batching, size), bool(settings.pin_memory), bool(settings.persistent_workers),
        bool(loader.__dict__.get('in_order', True)), settings._dataset_kind == 1 and not inner, file, line,
        library)
    return number


def _is_stateful(loader):
    """Its workers send their state with batches."""
    return any(of.__module__.startswith('torchdata.stateful_dataloader') for of in type(loader).__mro__)


def _inner(loader):
    """What fastai's DataLoader holds, where `loader` is what it gives torch's iterators in its place; else nothing."""
    own = getattr(loader, '__dict__', {})
    has = 'batch_sampler' in own or hasattr(type(loader), 'batch_sampler')
    return {} if has else getattr(own.get('d'), '__dict__', {})


def _batching(inner, held):
    size = inner.get('bs')
    if type(size) is int:
        return 'auto', size
    if held is None:
        return 'none', -1
    if held.batch_size is not None:
        return 'auto', held.batch_size
    if held.batch_sampler is None:   # what the sampler gives, or the data set, may be whole batches
        size = getattr(held.sampler, '__dict__', {}).get('batch_size')
        return 'none', size if type(size) is int else -1
    size = getattr(held.batch_sampler, '__dict__', {}).get('batch_size')
    return 'batch_sampler', size if type(size) is int else -1


def _start_method(settings):
    """Read without fixing it: get_start_method() would."""
    if not settings.num_workers:
        return ''
    context = settings.multiprocessing_context
    if context is None:
        contexts = sys.modules['multiprocessing.context']._default_context
        context = contexts._actual_context or contexts._default_context
    return getattr(context, '_name', None) or ''


def _length(settings, batching, size):
    """Batches an epoch; -1: known to a data set of the program's alone, whose __len__ may do anything."""
    if settings._dataset_kind == 1:
        return -1
    if batching is not None and batching.batch_sampler is None:
        size = 1   # a batch for each element
    if batching is None or size < 1:
        return -1
    sampler = batching.sampler
    if type(sampler).__name__ != 'RandomSampler' or not type(sampler).__module__.startswith('torch.'):
        return -1
    samples = sampler.__dict__.get('_num_samples')
    if type(samples) is not int:
        source = sampler.__dict__.get('data_source')
        if type(source) not in (list, tuple, range, dict, str):
            return -1
        samples = len(source)
    return samples // size if settings.drop_last else -(-samples // size)


def _loader_made(loader, args, result, succeeded):
    if succeeded:
        _number_of(loader)


# ---- epochs -------------------------------------------------------------------------------------

def _pass_begins(args, kwargs):
    """iter(loader) makes an iterator: args are (iterator, loader)."""
    iterator, loader = (args + tuple((kwargs or {}).values()))[:2]
    number = _number_of(loader)
    if number is None:
        return None
    state = iterator.__dict__['_stallprof'] = _Epoch(number)
    state.begin()
    return state, stamp()


def _pass_begun(token, args, result, succeeded):
    state, (at, cpu) = token
    if not succeeded:
        return
    iterator = args[0]
    queue = getattr(iterator, '_worker_result_queue', None)
    if not PARTS.complete('fetches', iterator):
        del iterator.__dict__['_stallprof']
        return
    state.base = state.key = epoch_key(iterator._base_seed, None, queue, state.number)
    torch_settings.iterator_made(iterator, args[1] if len(args) > 1 else None)
    if queue is None:
        PARTS.complete('in_process', iterator)
    else:
        PARTS.complete('owners', iterator)
        state.count_free, state.capacity = _arrived_counter(getattr(iterator, '_data_queue', None))
    state.any_order = not getattr(iterator, '_in_order', True)
    state.iterable = iterator._dataset_kind == 1
    _put_epoch(state, at, cpu, False)


def _reset_begins(args, kwargs):
    """Persistent workers: the same iterator again. The call inside __init__ is not a new epoch."""
    state = args[0].__dict__.get('_stallprof')
    if state is None or not state.base:
        return None
    state.begin()
    return state, stamp()


def _reset_done(token, args, result, succeeded):
    state, (at, cpu) = token
    state.resumes += 1
    state.key = mix(state.base, state.resumes)
    if succeeded:
        _put_epoch(state, at, cpu, True)


def _put_epoch(state, at, cpu, reused):
    end, cpu_end = stamp()
    put(events.ITERATOR_BEGIN, at, state.loader, state.number, state.key, end - at, cpu_end - cpu,
        reused)


def _replayed(loader):
    """An epoch of batches that are kept (torch_replay), where the loader's are; else None."""
    number = _number_of(loader)
    kept = torch_replay.kept_of(number)
    if kept is None:
        return None
    state = _Epoch(number)
    at, cpu = stamp()
    state.begin()
    state.key = epoch_key(0, None, None, state.number)
    _put_epoch(state, at, cpu, True)
    return torch_replay.Again(kept, state)


def epoch_key(seed, parent, queue, number):
    """Equal in the trainer and its workers, different for every epoch: the seed alone is not (it
    comes from the program's own generator). Names of semaphores travel to spawned workers;
    forked ones see the queue at the same address. Persistent workers mix in their resumes."""
    if queue is None:
        return mix(seed, _pid(), number)
    semaphore = getattr(getattr(queue, '_rlock', None), '_semlock', None)
    name = getattr(semaphore, 'name', None)
    return mix(seed, parent or _pid(), name or id(queue))


def _pid():
    return sys.modules['os'].getpid()


def _arrived_counter(queue):
    """How many batches lie in the data queue, without the queue's own Python code: the pin
    thread's queue is a deque, a process queue counts in a semaphore what was put and not got.
    (a count of places free, how many there are) or (a count of batches, -1)."""
    items = getattr(queue, 'queue', None)
    if items is not None:
        return items.__len__, -1
    if PARTS.complete('ready', queue):
        return queue._sem._semlock._get_value, queue._maxsize
    return _NOT_KNOWN, -1


# Fewer than any number of batches in hand makes up for: src/hook/epoch.c reports -1. Native, as the others: in Python code
# a signal's handler may raise, and what it raised would be taken for an error of ours.
_NOT_KNOWN = (-1 << 40).__int__


def install(module):
    """`module` is torch.utils.data.dataloader, or torchdata.stateful_dataloader.stateful_dataloader; just executed."""
    if module.__name__.startswith('torchdata.'):
        _install_classes(module, STATEFUL, *_STATEFUL_CLASSES)
        return
    _install_classes(module, PARTS, *_CLASSES)
    events.announce('torch')


def _install_classes(module, parts, loader, one, many):
    def begun(made):
        return Around(made, _pass_begins, _pass_begun)
    parts.install(module, {
        loader + '.__init__': lambda made: Around(torch_settings.around(made), None, _loader_made),
        one + '.__init__': begun, many + '.__init__': begun,
        many + '._reset': lambda reset: Around(reset, _reset_begins, _reset_done),
        path_of(_NEXT): lambda following: torch_replay.around_next(native.around_next(following)),
        many + '._try_put_index': native.around_put_index,
        many + '._get_data': native.around_get_data})
    torch_replay.install(getattr(module, loader), _replayed)
