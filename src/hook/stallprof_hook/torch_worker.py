# SPDX-License-Identifier: MIT
"""torch.utils.data in a worker process (1.13 to 2.x): its loop gets stand-ins for its two queues
whose get() and put() tell when an index arrived and a batch was made. Fork, spawn, forkserver.

CPU of a batch is the process's, so that decoder pools count, less that of the threads that send the
batch before while this one is made: the queue's feeder and multiprocessing's resource sharer. What
other threads used is read once a batch, at its end, since they have nothing to do between batches;
each of these clocks costs 0.5 us.
"""
import sys

from . import events
from .events import Around, mix, now, others, put, stamp
from .torch_batch import batch_bytes
from .torch_loader import pass_key


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
        self.base = self.key = pass_key(seed, _parent_pid(), data_queue, 0)
        self.worker, self.workers = worker, workers
        self.resumes = 0
        self.senders = (0, 0)  # tids of the feeder thread and the resource sharer's
        self.looks = 8         # for them: with the file_system strategy there is no sharer
        self.waiting = None    # when the wait for an index began, timeouts or not
        self.begun = None      # stamp at the index's arrival
        self.before = None     # others() at the end of the fetch before

    def begin(self):
        put(events.WORKER_BEGIN, now(), self.key, self.worker, self.workers)

    def first_get_begins(self, args, kwargs):
        """Later waits begin when the batch before has been handed over."""
        if self.waiting is None:
            self.waiting = now()
        return self

    def got(self, token, args, task, succeeded):
        if not succeeded or task is None:
            return
        if type(task) is tuple:
            if self.before is None:
                self.before = others()
            self.begun = stamp()
        elif type(task).__name__ == '_ResumeIteration':
            self.resumes += 1
            self.key = mix(self.base, self.resumes)
            self.waiting = now()
            self.begin()

    def put_begins(self, args, kwargs):
        if self.begun is None:
            return None
        if self.looks:
            self.find_senders()
        return others(*self.senders)

    def done(self, made, args, result, succeeded):
        end = now()
        begun, at = self.begun, self.waiting
        self.begun, self.waiting = None, end
        index, data = args[0]
        before, self.before = self.before, made
        cpu, pool = made[1] - begun[1], made[2] - before[2]
        put(events.WORKER_TASK, at, self.key, self.worker, index, begun[0] - at, made[0] - at,
            end - at, cpu, cpu + pool if pool > 0 else cpu, batch_bytes(data), made[3] - before[3],
            made[4] - before[4])

    def find_senders(self):
        self.looks -= 1
        sharing = sys.modules.get('multiprocessing.resource_sharer')
        sharer = getattr(sharing, '_resource_sharer', None)
        self.senders = (_native_id(self.queue), _native_id(sharer))


def _native_id(owner):
    return getattr(getattr(owner, '_thread', None), 'native_id', None) or 0


def _parent_pid():
    """Of the trainer: with forkserver the parent process is another. The same in 3.8 to 3.14."""
    parent = sys.modules['multiprocessing.process']._parent_process
    return getattr(parent, '_pid', None) or 0


def install(module):
    """`module` is torch.utils.data._utils.worker, just executed."""
    for name in ('_worker_loop', '_process_worker_loop'):  # the second: after 2.9, with threads
        if hasattr(module, name):
            setattr(module, name, _wrapped(getattr(module, name)))


def _wrapped(loop):
    code = loop.__code__
    names = code.co_varnames[:code.co_argcount]
    indexes, data, seed, worker, workers = (names.index(name) for name in (
        'index_queue', 'data_queue', 'base_seed', 'worker_id', 'num_workers'))

    def begin(args, kwargs):
        if len(args) <= max(indexes, data, seed, worker, workers):
            return None
        events.announce('torch')
        run = _Worker(args[seed], args[data], args[worker], args[workers])
        run.begin()
        changed = list(args)
        changed[indexes] = _StandIn(
            args[indexes], get=Around(args[indexes].get, run.first_get_begins, run.got))
        changed[data] = _StandIn(args[data], put=Around(args[data].put, run.put_begins, run.done))
        return tuple(changed)

    return Around(loop, begin)
