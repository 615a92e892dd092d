# SPDX-License-Identifier: MIT
"""torch.utils.data.DataLoader in the process that consumes it (1.13 to 2.x): loaders, passes and
every next(). What it reads of an iterator are names that all those versions have.

None of the callbacks below calls code of the user or of torch: an exception in them would be
hard to tell from one of theirs, and a lazily opened data set must not be opened by us.
"""
import sys
import weakref

from . import events
from .events import Around, mix, now, process_cpu, put, stamp
from .torch_batch import batch_bytes

_loaders = {}        # id(loader) -> (weak reference, number)
_count = {'loader': 0, 'pass': 0}


class _Pass:
    """What we keep with an iterator: identity of the current pass and who owes which batch."""
    __slots__ = ('loader', 'number', 'key', 'base', 'resumes', 'owners', 'last', 'arrived',
                 'any_order')

    def __init__(self, loader):
        self.loader = loader
        self.number = self.key = self.base = self.resumes = 0
        self.owners = {}     # index of a batch on its way -> worker
        self.last = -1       # index that came out of the data queue last
        self.arrived = None  # counts batches that lie in the data queue; None: no workers
        self.any_order = False

    def begin(self):
        _count['pass'] += 1
        self.number = _count['pass']
        self.owners.clear()


# ---- loaders ------------------------------------------------------------------------------------

def _number_of(loader):
    """The loader's number; one that came from elsewhere (unpickled) is announced here."""
    known = _loaders.get(id(loader))
    if known is None or known[0]() is not loader:
        _announce_loader(loader)
        known = _loaders[id(loader)]
    return known[1]


def _announce_loader(loader):
    key = id(loader)
    _count['loader'] += 1
    number = _count['loader']
    _loaders[key] = (weakref.ref(loader, lambda _: _loaders.pop(key, None)), number)
    events.announce('torch')
    batching, size = _batching(loader)
    file, line = events.user_line('torch')
    put(events.LOADER_SEEN, now(), number, 'torch.DataLoader', batching, _start_method(loader),
        type(loader.dataset).__qualname__, loader.num_workers,
        -1 if not loader.num_workers else int(loader.prefetch_factor), size, _length(loader, size),
        bool(loader.pin_memory), bool(loader.persistent_workers),
        bool(getattr(loader, 'in_order', True)), loader._dataset_kind == 1, file, line)


def _batching(loader):
    if loader.batch_size is not None:
        return 'auto', loader.batch_size
    if loader.batch_sampler is None:
        return 'none', 1
    size = getattr(loader.batch_sampler, '__dict__', {}).get('batch_size')
    return 'batch_sampler', size if type(size) is int else -1


def _start_method(loader):
    """Read without fixing it: get_start_method() would."""
    if not loader.num_workers:
        return ''
    context = loader.multiprocessing_context
    if context is None:
        contexts = sys.modules['multiprocessing.context']._default_context
        context = contexts._actual_context or contexts._default_context
    return getattr(context, '_name', None) or ''


def _length(loader, size):
    """Batches an epoch. Only a RandomSampler has asked the data set for its length already."""
    sampler = loader.sampler
    if loader._dataset_kind == 1 or size < 1 or type(sampler).__name__ != 'RandomSampler' \
            or not type(sampler).__module__.startswith('torch.'):
        return -1
    samples = sampler.__dict__.get('_num_samples')
    if type(samples) is not int:
        try:
            samples = len(sampler.data_source)
        except Exception:  # the data set's own; the program meets it where it asks itself
            return -1
    return samples // size if loader.drop_last else -(-samples // size)


def _loader_made(loader, args, result, succeeded):
    if succeeded and not (id(loader) in _loaders and _loaders[id(loader)][0]() is loader):
        _announce_loader(loader)


# ---- passes -------------------------------------------------------------------------------------

def _pass_begins(args, kwargs):
    """iter(loader) makes an iterator: args are (iterator, loader)."""
    iterator, loader = (args + tuple((kwargs or {}).values()))[:2]
    state = iterator.__dict__['_stallprof'] = _Pass(_number_of(loader))
    state.begin()
    return state, stamp()


def _pass_begun(token, args, result, succeeded):
    state, (at, cpu) = token
    if not succeeded:
        return
    iterator = args[0]
    queue = getattr(iterator, '_worker_result_queue', None)
    state.base = state.key = pass_key(iterator._base_seed, None, queue, state.number)
    state.arrived = _arrived_counter(iterator)
    state.any_order = not getattr(iterator, '_in_order', True)
    _put_pass(state, at, cpu, False)


def _reset_begins(args, kwargs):
    """Persistent workers: the same iterator again. The call inside __init__ is not a new pass."""
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
        _put_pass(state, at, cpu, True)


def _put_pass(state, at, cpu, reused):
    end, cpu_end = stamp()
    put(events.ITERATOR_BEGIN, at, state.loader, state.number, state.key, end - at, cpu_end - cpu,
        reused)


def pass_key(seed, parent, queue, number):
    """Equal in the trainer and its workers, different for every pass: the seed alone is not (it
    comes from the program's own generator). Names of semaphores travel to spawned workers;
    forked ones see the queue at the same address. Persistent workers mix in their resumes."""
    if queue is None:
        return mix(seed, _pid(), number)
    semaphore = getattr(getattr(queue, '_rlock', None), '_semlock', None)
    name = getattr(semaphore, 'name', None)
    return mix(seed, parent or _pid(), name or id(queue))


def _pid():
    return sys.modules['os'].getpid()


def _arrived_counter(iterator):
    """How many batches lie in the data queue, without the queue's own Python code: the pin
    thread's queue is a deque, a process queue counts in a semaphore what was put and not got."""
    queue = getattr(iterator, '_data_queue', None)
    if queue is None:
        return None
    items = getattr(queue, 'queue', None)
    if items is not None:
        return items.__len__
    free = queue._sem._semlock._get_value
    most = queue._maxsize
    return lambda: most - free()


# ---- batches ------------------------------------------------------------------------------------

def _next_begins(args, kwargs):
    iterator = args[0]
    state = iterator.__dict__.get('_stallprof')
    if state is None:
        return None
    if state.arrived is None:
        return state, process_cpu(), stamp()
    ready = len(iterator._task_info) - iterator._tasks_outstanding
    if ready and iterator._dataset_kind == 1:  # an ended worker's last task is no batch
        ready = sum(len(info) == 2 for info in iterator._task_info.values())
    return state, ready + state.arrived(), stamp()


def _next_done(token, args, result, succeeded):
    end, cpu_end = stamp()
    state, ready, (at, cpu) = token
    iterator = args[0]
    batch = worker = process = size = -1
    if state.arrived is None:
        process, ready = process_cpu() - ready, -1
        if succeeded:
            batch, size = iterator._num_yielded - 1, batch_bytes(result)
    elif succeeded:
        batch = state.last if state.any_order else iterator._rcvd_idx - 1
        worker = state.owners.pop(batch, -1)
    put(events.FETCH, at, state.loader, state.number, end - at, cpu_end - cpu, batch, worker,
        ready, not succeeded, process, size)


def _index_put(iterator, args, result, succeeded):
    state = iterator.__dict__.get('_stallprof')
    index = iterator._send_idx - 1
    info = iterator._task_info.get(index)
    if state is not None and info is not None:
        state.owners[index] = info[0]


def _data_got(iterator, args, result, succeeded):
    """With in_order=False any index may be delivered: the one got last is."""
    state = iterator.__dict__.get('_stallprof')
    if succeeded and state is not None:
        state.last = result[0]


def install(module):
    """`module` is torch.utils.data.dataloader, just executed."""
    base, many = module._BaseDataLoaderIter, module._MultiProcessingDataLoaderIter
    one = module._SingleProcessDataLoaderIter
    wrappers = (
        (module.DataLoader, '__init__', None, _loader_made),
        (one, '__init__', _pass_begins, _pass_begun),
        (many, '__init__', _pass_begins, _pass_begun),
        (many, '_reset', _reset_begins, _reset_done),
        (base, '__next__', _next_begins, _next_done),
        (many, '_try_put_index', None, _index_put),
        (many, '_get_data', None, _data_got))
    around = [(owner, name, Around(owner.__dict__[name], begin, end))
              for owner, name, begin, end in wrappers]
    for owner, name, wrapped in around:  # all of them or, where one is missing, none
        setattr(owner, name, wrapped)
    events.announce('torch')
