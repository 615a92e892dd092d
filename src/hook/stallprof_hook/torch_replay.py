# SPDX-License-Identifier: MIT
"""`run --replay` and `run --drain`: a training whose batches are always ready, and its loader alone.

Replay: the first batches of a loader are kept as the training gets them. Then its iterators give those
again, as many an epoch as before; workers have nothing left to do. What the loss is does not matter any
more. Drain: the first next() goes through the loader as fast as it can, then the program ends.
"""
import copy
import copyreg
import os
import sys
import weakref
from collections import OrderedDict

from . import events, overrides
from .events import now, put, stamp
from .parts import PARTIAL, report

MIN_BATCHES = 10              # batches: fewer are one shape, one data-dependent path
_MEMORY_SHARE = 4       # of what is available, a fourth at most
_MAX_PARTS = 100000     # of a batch; of more no others are known
_SHARED = {str, bytes, int, float, bool, complex, type(None)}   # types of what is never changed, and holds nothing
_HEAP_TYPE = 1 << 9     # Py_TPFLAGS_HEAPTYPE
_meant = {}             # number of a loader -> (reference, file, line, _Kept)
_drained = []


class _Kept:
    """The batches of one loader."""

    def __init__(self):
        self.batches, self.bytes, self.full = [], 0, False
        self.length = None      # of an epoch; None: not known
        self.turn, self.given, self.clones = 0, [], True
        self.unversioned = False    # has tensors of inference mode: a change of theirs cannot be seen

    def keep(self, batch, file, line):
        with sys.modules['torch'].inference_mode(False):   # the training may take outside what was kept inside
            self.batches.append(_tried(_copied, batch, True))
        self.bytes += _tried(_bytes, batch)
        bound = _available() // _MEMORY_SHARE
        if self.bytes > bound and len(self.batches) < MIN_BATCHES:
            overrides.refuse('--replay', '%d batches take %.0f MB, more than a quarter of the memory that is '
                             'available' % (len(self.batches), self.bytes / 1e6))
        if len(self.batches) >= overrides.replay or self.bytes > bound:
            self.full = True
            overrides.changed('replay', '', len(self.batches), file, line)

    def next(self):
        """A batch of containers of its own. In the first round tensors are, too: a program that changes
        them in place would go on with what it made of them."""
        count = len(self.batches)
        if self.turn == count:
            changed = any(tensor._version != version for tensor, version in self.given)
            self.clones = changed or self.unversioned
            self.given = []
            if self.clones:
                report('torch_replay.copies', PARTIAL, 'the program changes its batches in place, or takes them in '
                       'inference mode: --replay copies each before it is given again, and next() takes that long')
        batch = _tried(_copied, self.batches[self.turn % count], self.clones)
        if self.turn < count:
            for tensor in _tried(_tensors, batch):
                if tensor.is_inference():
                    self.unversioned = True
                else:
                    self.given.append((tensor, tensor._version))
        self.turn += 1
        return batch


def _is_tensor(part):
    tensor = sys.modules['torch'].Tensor
    return isinstance(part, tensor)


def _clone(tensor):
    """As the loader gave it: a clone of pinned memory is not pinned, and takes longer to a device."""
    copied, torch = tensor.clone(), sys.modules['torch']
    # Asked of a process that has not used a device it would begin to, and fail in one that was forked from such.
    pinned = (torch.cuda.is_initialized() and tensor.device.type == 'cpu' and tensor.layout is torch.strided
              and tensor.is_pinned())
    return copied.pin_memory() if pinned else copied


def _is_array(part):
    return isinstance(part, getattr(sys.modules.get('numpy'), 'ndarray', ()))


def _tried(act, batch, *more):
    """Its classes may be the program's, whose exceptions are none of the training's."""
    try:
        return act(batch, *more)
    except Exception as error:
        overrides.refuse('--replay', 'a batch (%s) cannot be copied: %s: %s' % (
            type(batch).__qualname__, type(error).__name__, error))


def _copied(part, clones, copies=None):
    """Each part once, with what was copied held (id() of what goes is another's). Arrays have no versions: they are
    always copied. What holds neither is the batch's own, and shared."""
    copies = {} if copies is None else copies
    if type(part) in _SHARED:
        return part
    if id(part) not in copies:
        copies[id(part)] = part, _copy_of(part, clones, copies)
    return copies[id(part)][1]


def _copy_of(part, clones, copies):
    if _is_tensor(part):
        return _clone(part) if clones and not part.requires_grad else part
    if _is_array(part):
        return part.copy()
    if isinstance(part, dict) or hasattr(part, 'data') and hasattr(part, 'keys'):   # UserDict of transformers
        return _copied_mapping(part, clones, copies)
    if isinstance(part, (list, tuple)):
        items = [_copied(item, clones, copies) for item in part]
        return items if type(part) is list else _like(part, items)
    if not any(_is_tensor(leaf) or _is_array(leaf) for leaf in _leaves(part)):
        return part
    whole = copy.copy(part)
    copies[id(part)] = part, whole   # what it holds may lead back to it
    for name, value in _fields(whole).items():
        object.__setattr__(whole, name, _copied(value, clones, copies))   # a frozen one's, too
    return whole


def _copied_mapping(part, clones, copies):
    try:
        whole = copy.copy(part)
        for key in list(whole.keys()):
            whole[key] = _copied(whole[key], clones, copies)
        return whole
    except Exception:
        if not isinstance(part, dict) or isinstance(part, OrderedDict):
            raise
    whole = dict.__new__(type(part))   # one that lets nothing be put in
    dict.update(whole, {key: _copied(value, clones, copies) for key, value in dict.items(part)})
    whole.__dict__.update(part.__dict__)
    return whole


def _like(part, items):
    """Another of its class, whose constructor may take something else."""
    if isinstance(part, list):
        whole = copy.copy(part)
        whole[:] = items
        return whole
    try:
        whole = tuple.__new__(type(part), items)
    except TypeError:   # a struct sequence, as torch.return_types has
        return type(part)(items)
    getattr(whole, '__dict__', {}).update(getattr(part, '__dict__', {}))
    return whole


def _fields(part):
    """What an object of a class in Python holds; a model or a data set that a batch leads to is not of the batch."""
    kind, torch = type(part), sys.modules['torch']
    if not kind.__flags__ & _HEAP_TYPE or isinstance(part, (torch.nn.Module, torch.utils.data.Dataset, type, type(sys))):
        return {}
    fields = dict(object.__getattribute__(part, '__dict__')) if kind.__dictoffset__ else {}
    for name in copyreg._slotnames(kind):
        try:
            fields[name] = object.__getattribute__(part, name)
        except AttributeError:   # not set
            pass
    return fields


def _parts(part):
    if isinstance(part, dict) or hasattr(part, 'keys') and callable(getattr(part, 'values', None)):
        return part.values()
    return part if isinstance(part, (list, tuple)) else _fields(part).values()


def _leaves(batch):
    """Tensors, arrays and what else has no parts that are known; each once."""
    waiting, seen = [batch], {}
    while waiting and len(seen) < _MAX_PARTS:
        part = waiting.pop()
        if type(part) in _SHARED or id(part) in seen:
            continue
        seen[id(part)] = part
        parts = () if _is_tensor(part) or _is_array(part) else list(_parts(part))
        if not parts:
            yield part
        waiting += parts


def _tensors(batch):
    return list(filter(_is_tensor, _leaves(batch)))


def _bytes(batch):
    size = 0
    for part in _leaves(batch):
        own = part.numel() * part.element_size() if _is_tensor(part) else getattr(part, 'nbytes', 0)
        size += own if isinstance(own, int) else 0
    return size


def _read(path):
    with open(path) as file:
        return file.read()


def _group_room():
    """Bytes that are left below the tightest limit of the control groups that this process is in, as far up as a
    container sees; None: no limit. Pages of files are free, as in MemAvailable."""
    rooms = []
    try:
        lines = [line.split(':', 2) for line in _read('/proc/self/cgroup').splitlines() if line.count(':') > 1]
    except (OSError, ValueError):
        return None
    for _, controllers, path in lines:
        if controllers and 'memory' not in controllers.split(','):
            continue
        folder, limit, used, total = (('memory', 'memory.limit_in_bytes', 'memory.usage_in_bytes', 'total_')
                                      if controllers else ('', 'memory.max', 'memory.current', ''))
        below = path.strip('/')
        while True:
            place = os.path.join('/sys/fs/cgroup', folder, below)
            try:
                room = int(_read(os.path.join(place, limit))) - int(_read(os.path.join(place, used)))
                rooms.append(room + _file_pages(os.path.join(place, 'memory.stat'), total))
            except (OSError, ValueError):   # no such file; "max"
                pass
            if not below:
                break
            below = below.rpartition('/')[0]
    return max(0, min(rooms)) if rooms else None


def _file_pages(path, total):
    try:
        stat = dict(line.split() for line in _read(path).splitlines())
        return sum(int(stat.get(total + name, 0)) for name in ('active_file', 'inactive_file'))
    except (OSError, ValueError):
        return 0


def _available():
    free = 1 << 30
    for line in _read('/proc/meminfo').splitlines():
        if line.startswith('MemAvailable:'):
            free = int(line.split()[1]) * 1024
    room = _group_room()
    return free if room is None else min(free, room)


# ---- loaders and iterators ------------------------------------------------------------------------

def loader_made(number, loader, dataset_kind, file, line):
    if not (overrides.replay or overrides.drain) or not overrides.is_meant(file, line):
        return
    # Its iterator may outlive it, as in next(iter(DataLoader(...))): to drain it more of those are made, and an
    # iterable data set is asked for its length.
    reference = (lambda: loader) if overrides.drain or dataset_kind == 1 else weakref.ref(loader)
    _meant[number] = reference, file, line, _Kept()


def _length(iterator, loader):
    """Batches of an epoch; None: an iterable data set that does not say."""
    try:
        return len(loader) if iterator._dataset_kind == 1 else len(iterator)
    except Exception:   # a data set's own __len__
        if not overrides.ends:
            overrides.refuse('--replay', 'the data set has no length, so that an epoch would not end; --for SECONDS '
                                         'ends the run')
        return None


class Again:
    """An epoch of batches that are kept."""

    def __init__(self, kept, state):
        self._kept, self._state, self._left = kept, state, kept.length

    def __iter__(self):
        return self

    def __len__(self):
        if self._kept.length is None:
            raise TypeError('the data set has no length')
        return self._kept.length

    def __next__(self):
        return _give(self._state, self._kept, self._take())

    def _take(self):
        if self._left is not None:
            self._left -= 1
        return self._left is None or self._left >= 0


def _give(state, kept, more):
    at, cpu = stamp()
    batch = kept.next() if more else None
    end, cpu_end = stamp()
    put(events.FETCH, at, state.loader, state.number, end - at, cpu_end - cpu, -1, -1, -1, not more, -1, -1)
    if not more:
        raise StopIteration
    return batch


def around_next(following):
    """In the place of the iterators' __next__; `following` itself where nothing was asked for."""
    if not overrides.replay and not overrides.drain:
        return following

    def __next__(self):
        state = self.__dict__.get('_stallprof')
        reference, file, line, kept = _meant.get(getattr(state, 'loader', None), (None,) * 4)
        if kept is None:
            return following(self)
        if overrides.drain:
            if overrides.trains and not sys.modules['torch'].is_grad_enabled():
                return following(self)
            _drain(self, following, reference(), file, line)
        given, state.given = state.given, state.given + 1
        if kept.full:
            return _give(state, kept, kept.length is None or given < kept.length)
        batch = following(self)
        if kept.length is None:
            kept.length = _length(self, reference())
            _meant[state.loader] = (lambda: None), file, line, kept   # it may go
        kept.keep(batch, file, line)
        return batch
    return __next__


def kept_of(number):
    """Of a loader by its number, once there are enough; else None."""
    kept = _meant.get(number, (None,) * 4)[3]
    return kept if kept is not None and kept.full else None


def install(kind, replayed):
    """Epochs that begin when a loader's batches are kept: no workers are started for them."""
    if not overrides.replay:
        return
    original = kind.__iter__

    def __iter__(self):
        again = replayed(self)
        return original(self) if again is None else again
    kind.__iter__ = __iter__


def _again(loader):
    """An iterator of PyTorch's own, whatever a subclass makes of it."""
    own = next(kind for kind in type(loader).__mro__ if kind.__module__.partition('.')[0] in ('torch', 'torchdata'))
    return own.__iter__(loader)


def _drain(iterator, following, loader, file, line):
    if _drained:
        return
    _drained.append(True)
    overrides.changed('drain', '', overrides.drain, file, line)
    end = now() + int(overrides.drain * 1e9)
    while now() < end:
        try:
            following(iterator)
        except StopIteration:
            iterator = None   # its workers end before others are started, as where a loop is left
            iterator = _again(loader)
    if hasattr(iterator, '_shutdown_workers'):
        iterator._shutdown_workers()
    overrides.leave()
