# SPDX-License-Identifier: MIT
"""torch.utils.data in a worker process (1.13 to 2.x): its loop gets stand-ins for its two queues
whose get() and put() show when an index arrived and a batch was made. Fork, spawn, forkserver.
What is done once a batch is native (src/hook/tasks.c).
"""
import sys

from . import _stallprof_events as native, events
from .events import Around, mix, now, put
from .parts import Part, Parts
from .torch_loader import epoch_key

_LOOPS = ('_worker_loop', '_process_worker_loop')   # the second: after 2.9, with threads
_PARAMETERS = ('index_queue', 'data_queue', 'base_seed', 'worker_id', 'num_workers')
PARTS = Parts(
    'torch_worker',
    Part('batches', 'what workers did, and so the cause of waits', any_of=True,
         *(loop + '(%s)' % ', '.join(_PARAMETERS) for loop in _LOOPS)),
    Part('epochs', 'batches of persistent workers after their first epoch', '_ResumeIteration'))


class _StandIn:
    """Anything but the wrapped methods is the real queue's."""

    def __init__(self, queue, **methods):
        self._queue = queue
        self.__dict__.update(methods)

    def __getattr__(self, name):
        return getattr(self._queue, name)


class _Worker:
    """One run of the worker loop."""

    def __init__(self, seed, data_queue, worker, workers):
        self.queue = data_queue
        self.base = self.key = epoch_key(seed, _parent_pid(), data_queue, 0)
        self.worker, self.workers = worker, workers
        self.resumes = 0
        self.tasks = native.Tasks(self.key, worker, self.senders, self.resumed)

    def begin(self):
        put(events.WORKER_BEGIN, now(), self.key, self.worker, self.workers)

    def resumed(self, message):
        if type(message).__name__ == '_ResumeIteration':
            self.resumes += 1
            self.key = mix(self.base, self.resumes)
            self.begin()
        return self.key

    def senders(self):
        """The threads that send batches: the queue's feeder, multiprocessing's resource sharer
        (none with the file_system strategy)."""
        sharing = sys.modules.get('multiprocessing.resource_sharer')
        sharer = getattr(sharing, '_resource_sharer', None)
        return _native_id(self.queue), _native_id(sharer)


def _native_id(owner):
    return getattr(getattr(owner, '_thread', None), 'native_id', None) or 0


def _parent_pid():
    """Of the trainer: with forkserver the parent process is another. The same in 3.8 to 3.14."""
    parent = sys.modules['multiprocessing.process']._parent_process
    return getattr(parent, '_pid', None) or 0


def install(module):
    """`module` is torch.utils.data._utils.worker, just executed."""
    PARTS.install(module, dict.fromkeys(_LOOPS, _wrapped))


def _wrapped(loop):
    code = loop.__code__
    names = code.co_varnames[:code.co_argcount]
    indexes, data, seed, worker, workers = (names.index(name) for name in _PARAMETERS)

    def begin(args, kwargs):
        if len(args) <= max(indexes, data, seed, worker, workers):
            return None
        events.announce('torch')
        run = _Worker(args[seed], args[data], args[worker], args[workers])
        run.begin()
        changed = list(args)
        changed[indexes] = _StandIn(args[indexes], get=run.tasks.around_get(args[indexes].get))
        changed[data] = _StandIn(args[data], put=run.tasks.around_put(args[data].put))
        return tuple(changed)

    return Around(loop, begin)
