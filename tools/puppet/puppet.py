#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puppet: a training on the real PyTorch DataLoader whose every cost is dialled in, and which logs
what it really did. It is the ground truth stallprof's reports are compared with, so it knows nothing
of stallprof: it spins, reads, sleeps and sends, times itself, and writes one JSON object.

  puppet.py --workers 2 --sample-cpu-ms 4 --compute-ms 3        a loader that cannot keep up
  puppet.py --workers 0 --io file --sample-io-ms 2              reads inside the training loop

What the log holds (times in ns, CLOCK_MONOTONIC):
  dials    the settings
  steps    [[fetch begin, fetch end, compute end, step end, thread CPU in the fetch], ...]
  passes   [[iter() begin, iter() end, begin of the fetch that ended the pass, its end], ...]
  batches  [[worker, fetch begin, fetch end, CPU, blocked in reads], ...] in order of delivery
  window   begin, end and steps of the window: all but the first 10 steps or 5 s, whichever is
           longer, at most 30 % of the steps
  share    of the window: data_wait (in next()), iterator (in iter() and in the next() that ends a
           pass), compute, periodic (checkpoints), other; they sum to 1
  phase    of the window: extract, transform, load, compute, periodic, other, where the data wait
           is given to what the worker that owed the batch was doing; they sum to 1
"""
import argparse
import json
import mmap
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

SEGMENTS = []  # reads of the batch this process is making: (begin, end, 'extract')
ALIGN = 4096   # what O_DIRECT asks of offset, length and buffer on every common disk


def options():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add('--steps', type=int, default=200, help='steps in all')
    add('--epochs', type=int, default=1, help='passes the steps are divided into')
    add('--batch-size', type=int, default=8, help='samples a batch')
    add('--seed', type=int, default=1, help='of every random choice')
    add('--log', default='-', help='where the truth goes; - is standard output')
    loader = parser.add_argument_group('loader')
    add = loader.add_argument
    add('--workers', type=int, default=2, help='DataLoader num_workers')
    add('--prefetch', type=int, default=2, help='DataLoader prefetch_factor')
    add('--persistent', action='store_true', help='DataLoader persistent_workers')
    add('--start-method', choices=['fork', 'spawn', 'forkserver'], default='fork')
    add('--dataset', choices=['map', 'iterable'], default='map')
    add('--startup-ms', type=float, default=0, help='spun in worker_init_fn')
    work = parser.add_argument_group('costs')
    add = work.add_argument
    add('--compute-ms', type=float, default=5, help='a step, on the trainer thread')
    add('--compute', choices=['spin', 'matmul', 'sleep'], default='matmul',
        help='matmul: until the time is over; spin: Python; sleep: idle, as if a device computed')
    add('--sample-cpu-ms', type=float, default=1, help='thread CPU a sample, spun by its producer')
    add('--cpu', choices=['spin', 'matmul'], default='matmul', help='what a producer spins with')
    add('--sample-io-ms', type=float, default=0,
        help='a sample blocked in reads; with --io file the disk decides and this only must be > 0')
    add('--io', choices=['server', 'file', 'cached'], default='server',
        help='server: a TCP storage server that answers late; file: O_DIRECT reads of a file; '
             'cached: buffered reads of a file, its pages dropped before each')
    add('--sample-kb', type=int, default=64, help='read a sample')
    add('--reads', type=int, default=1, help='read calls a sample is read in')
    add('--send-kb', type=int, default=256, help='bytes of a batch, sent from producer to trainer')
    add('--batch-cv', type=float, default=0, help='coefficient of variation of a batch\'s costs')
    add('--straggler-every', type=int, default=0, help='every Nth batch is slow; 0: none')
    add('--straggler-factor', type=float, default=8, help='how slow')
    add('--optimizer', choices=['sgd', 'none'], default='sgd', help='a real optimizer step a step')
    add('--grad-accumulation', type=int, default=1, help='batches an optimizer step')
    periodic = parser.add_argument_group('checkpoints')
    add = periodic.add_argument
    add('--checkpoint-every', type=int, default=0, help='steps between checkpoints; 0: none')
    add('--checkpoint-mb', type=float, default=1, help='size of a checkpoint')
    add('--checkpoint-ms', type=float, default=0, help='at least; the rest is slept in write()')
    add('--dir', default=None, help='for the data file and checkpoints; default a new one, removed')
    add('--serve', action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- costs --------------------------------------------------------------------------------------

class Burner:
    """Burns thread CPU time: in Python, or in a native kernel that lets go of the GIL."""

    def __init__(self, native):
        self.a = torch.rand(48, 48) if native else None

    def burn(self, ms, clock=time.thread_time_ns):
        end = clock() + int(ms * 1e6)
        while clock() < end:
            if self.a is not None:
                torch.mm(self.a, self.a)


class ServerReads:
    """Blocking reads from a storage server that answers `ms` late. One connection a process."""

    def __init__(self, port, kb):
        self.port, self.kb, self.pid = port, kb, None

    def read(self, index, ms):
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.socket = socket.create_connection(('127.0.0.1', self.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b'%012d%012d' % (int(ms * 1e6), self.kb << 10))
        left = self.kb << 10
        while left:
            left -= len(self.socket.recv(left))

    def __getstate__(self):
        return {'port': self.port, 'kb': self.kb, 'pid': None}


class FileReads:
    """Blocking reads of a file that is not in the page cache; how long they take is the disk's."""

    def __init__(self, path, kb, direct):
        self.path, self.bytes, self.direct, self.pid = path, max(kb << 10, ALIGN), direct, None

    def read(self, index, ms):
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.fd = os.open(self.path, os.O_RDONLY | (os.O_DIRECT if self.direct else 0))
            self.size = os.fstat(self.fd).st_size
            self.buffer = mmap.mmap(-1, self.bytes)  # page aligned, as O_DIRECT wants it
        slots = self.size // self.bytes
        at = (index * 2654435761 % slots) * self.bytes
        if not self.direct:
            os.posix_fadvise(self.fd, at, self.bytes, os.POSIX_FADV_DONTNEED)
        os.preadv(self.fd, [self.buffer], at)

    def __getstate__(self):
        return {'path': self.path, 'bytes': self.bytes, 'direct': self.direct, 'pid': None}


def serve():
    """The storage server: sleeps as long as each request says, then sends. Ends with its parent."""
    listener = socket.create_server(('127.0.0.1', 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    blob = os.urandom(1 << 20)

    def answer(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile('rb') as requests:
            while True:
                request = requests.read(24)
                if len(request) < 24:
                    return
                wait, size = int(request[:12]), int(request[12:])
                time.sleep(wait / 1e9)
                while size:
                    size -= connection.send(blob[:min(size, len(blob))])

    def accept():
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.buffer.read()  # the puppet holds the other end


# ---- data ---------------------------------------------------------------------------------------

class Producer:
    """Makes one sample: reads it, then works on it, and notes when it did what."""

    def __init__(self, dials, reads):
        self.dials, self.reads, self.burner = dials, reads, Burner(dials.cpu == 'matmul')

    def factor(self, batch):
        d, dice = self.dials, random.Random(self.dials.seed * 1000003 + batch)
        factor = 1.0
        if d.batch_cv:
            sigma = (torch.log(torch.tensor(1 + d.batch_cv ** 2)).item()) ** 0.5
            factor = dice.lognormvariate(-sigma * sigma / 2, sigma)
        if d.straggler_every and batch % d.straggler_every == d.straggler_every - 1:
            factor *= d.straggler_factor
        return factor

    def make(self, index):
        d, factor = self.dials, self.factor(index // self.dials.batch_size)
        if d.sample_io_ms > 0:
            for part in range(d.reads):
                begin = time.monotonic_ns()
                self.reads.read(index * d.reads + part, d.sample_io_ms * factor / d.reads)
                SEGMENTS.append((begin, time.monotonic_ns(), 'extract'))
        if d.sample_cpu_ms > 0:
            self.burner.burn(d.sample_cpu_ms * factor)
        return index


class MapData(Dataset):
    def __init__(self, producer, samples):
        self.producer, self.samples = producer, samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        return sample(self.producer, index)


class StreamData(IterableDataset):
    """Whole batches are dealt to the workers in turn."""

    def __init__(self, producer, samples):
        self.producer, self.samples = producer, samples

    def __iter__(self):
        info, size = get_worker_info(), self.producer.dials.batch_size
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for batch in range(first, self.samples // size, step):
            for index in range(batch * size, (batch + 1) * size):
                yield sample(self.producer, index)


BEGUN = []  # (monotonic, thread CPU) at the first sample of the batch in the making


def sample(producer, index):
    if not BEGUN:
        BEGUN.append((time.monotonic_ns(), time.thread_time_ns()))
    return producer.make(index)


class Collate:
    """The batch: a tensor of the dialled size, and what its making took."""

    def __init__(self, kb):
        self.bytes = kb << 10

    def __call__(self, indexes):
        data = torch.full((max(self.bytes // 4, 16),), float(indexes[0]))
        begin, cpu = BEGUN.pop()
        info, end = get_worker_info(), time.monotonic_ns()
        log = (info.id if info else -1, begin, end, time.thread_time_ns() - cpu,
               tuple(between(SEGMENTS, begin, end)))
        SEGMENTS.clear()
        return data, log


def between(reads, begin, end):
    """The reads, and what was made between them: all of a fetch that is not reading is transform."""
    at = begin
    for a, b, phase in reads:
        yield at, a, 'transform'
        yield a, b, phase
        at = b
    yield at, end, 'transform'


class WorkerInit:
    def __init__(self, ms):
        self.ms = ms

    def __call__(self, worker):
        Burner(False).burn(self.ms)


class SlowFile:
    """A file on a disk that needs `ms` for `total` bytes."""

    def __init__(self, file, ms, total):
        self.file, self.rate = file, ms / 1e3 / max(total, 1)

    def write(self, data):
        begin = time.monotonic()
        written = self.file.write(data)
        rest = len(memoryview(data).cast('B')) * self.rate - (time.monotonic() - begin)
        if rest > 0:
            time.sleep(rest)
        return written

    def flush(self):
        self.file.flush()


# ---- training -----------------------------------------------------------------------------------

class Training:
    def __init__(self, dials, directory, reads):
        self.dials, self.directory = dials, directory
        samples = dials.steps // dials.epochs * dials.batch_size
        data = (MapData if dials.dataset == 'map' else StreamData)(Producer(dials, reads), samples)
        many = {'prefetch_factor': dials.prefetch, 'persistent_workers': dials.persistent,
                'multiprocessing_context': dials.start_method,
                'worker_init_fn': WorkerInit(dials.startup_ms)} if dials.workers else {}
        self.loader = DataLoader(data, batch_size=dials.batch_size, num_workers=dials.workers,
                                 collate_fn=Collate(dials.send_kb), **many)
        self.model = torch.nn.Linear(16, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-9)
        self.state = torch.zeros(max(int(dials.checkpoint_mb * 2 ** 20) // 4, 1))
        self.burner = Burner(dials.compute == 'matmul')
        self.steps, self.passes, self.batches = [], [], []

    def run(self):
        for _ in range(self.dials.epochs):
            begin = time.monotonic_ns()
            iterator = iter(self.loader)
            row = [begin, time.monotonic_ns()]
            while self.step(iterator, row):
                pass
            self.passes.append(row)

    def step(self, iterator, row):
        cpu, begin = time.thread_time_ns(), time.monotonic_ns()
        batch = next(iterator, None)
        fetched, cpu = time.monotonic_ns(), time.thread_time_ns() - cpu
        if batch is None:
            row += [begin, fetched]
            return False
        self.compute(batch[0])
        computed = time.monotonic_ns()
        every = self.dials.checkpoint_every
        if every and (len(self.steps) + 1) % every == 0:
            self.checkpoint()
        self.batches.append(batch[1])
        self.steps.append([begin, fetched, computed, time.monotonic_ns(), cpu])
        return True

    def compute(self, data):
        d, begin = self.dials, time.monotonic_ns()
        if d.optimizer == 'sgd':
            (self.model(data[:16]).sum() / d.grad_accumulation).backward()
            if (len(self.steps) + 1) % d.grad_accumulation == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        left = d.compute_ms - (time.monotonic_ns() - begin) / 1e6
        if left > 0 and d.compute == 'sleep':
            time.sleep(left / 1e3)
        elif left > 0:
            self.burner.burn(left)

    def checkpoint(self):
        path, d = os.path.join(self.directory, 'checkpoint.pt'), self.dials
        with open(path, 'wb') as file:
            torch.save(self.state, SlowFile(file, d.checkpoint_ms, d.checkpoint_mb * 2 ** 20))
            file.flush()
            os.fsync(file.fileno())


# ---- the truth ----------------------------------------------------------------------------------

def window_of(steps):
    """Index of the window's first step: after 10 steps or 5 s, whichever is longer, at most 30 %."""
    first = 10
    while first < len(steps) and steps[first][0] - steps[0][0] < 5e9:
        first += 1
    return min(first, int(len(steps) * 0.3))


def blame(begin, end, timeline):
    """[begin, end] by what the worker did: its segments, and load where it did nothing of the two."""
    found = {'extract': 0, 'transform': 0}
    for a, b, phase in timeline:
        found[phase] += max(0, min(b, end) - max(a, begin))
    found['load'] = end - begin - sum(found.values())
    return found


def blame_of_fetch(begin, end, cpu, timeline, workers):
    """The fetch [begin, end] by phase. With workers the trainer's own CPU in it, receiving the batch
    at its end, is load. Without, the fetch is the making of the batch: what is not reading is
    transform."""
    own = min(cpu, end - begin) if workers else 0
    found = blame(begin, end - own, timeline)
    found['load'] += own
    if not workers:
        found['transform'] += found.pop('load')
    return found


def truth(training):
    steps, batches = training.steps, training.batches
    first = window_of(steps)
    begin, end = steps[first][0], steps[-1][3]
    total = end - begin
    share = dict.fromkeys(('data_wait', 'iterator', 'compute', 'periodic', 'other'), 0)
    phase = dict.fromkeys(('extract', 'transform', 'load', 'compute', 'periodic', 'other'), 0)
    timelines = {}  # worker -> segments of its last batches
    for i, ((a, b, c, d, cpu), batch) in enumerate(zip(steps, batches)):
        timeline = timelines.setdefault(batch[0], [])
        timeline += batch[4]
        del timeline[:-512]
        if i < first:
            continue
        share['data_wait'] += b - a
        share['compute'] += c - b
        share['periodic'] += d - c
        for name, ns in blame_of_fetch(a, b, cpu, timeline, training.dials.workers).items():
            phase[name] += ns
    for a, b, *ending in training.passes:
        share['iterator'] += max(0, min(b, end) - max(a, begin))
        if ending:
            share['iterator'] += max(0, min(ending[1], end) - max(ending[0], begin))
    share['other'] = total - sum(share.values())
    phase.update(compute=share['compute'], periodic=share['periodic'], other=share['other'])
    phase['load'] += share['iterator']
    return {'window': {'begin': begin, 'end': end, 'steps': len(steps) - first, 'first': first},
            'share': {k: v / total for k, v in share.items()},
            'phase': {k: v / total for k, v in phase.items()}}


def log_of(training, wall):
    dials = {k: v for k, v in vars(training.dials).items() if k not in ('serve', 'log', 'dir')}
    batches = [[worker, begin, end, cpu, sum(b - a for a, b, p in parts if p == 'extract')]
               for worker, begin, end, cpu, parts in training.batches]
    return dict({'dials': dials, 'torch': torch.__version__, 'wall': wall,
                 'step_count': len(training.steps)}, **truth(training),
                steps=training.steps, passes=training.passes, batches=batches)


def storage(dials, directory):
    """What samples are read from, and the server's process if there is one."""
    if dials.sample_io_ms <= 0:
        return None, None
    if dials.io == 'server':
        server = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--serve'],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return ServerReads(int(server.stdout.readline()), dials.sample_kb), server
    path = os.path.join(directory, 'samples')
    with open(path, 'wb') as file:
        for _ in range(256):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    return FileReads(path, dials.sample_kb, dials.io == 'file'), None


def main():
    dials = options()
    if dials.serve:
        return serve()
    torch.set_num_threads(1)
    torch.manual_seed(dials.seed)
    with tempfile.TemporaryDirectory(prefix='puppet-', dir=dials.dir) as directory:
        reads, server = storage(dials, directory)
        begin = time.monotonic_ns()
        training = Training(dials, directory, reads)
        training.run()
        log = log_of(training, time.monotonic_ns() - begin)
        if server:
            server.terminate()  # a worker not yet gone holds its standard input too
            server.wait()
    out = sys.stdout if dials.log == '-' else open(dials.log, 'w')
    with out:
        json.dump(log, out)
        out.write('\n')


if __name__ == '__main__':
    main()
