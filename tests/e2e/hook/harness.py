# SPDX-License-Identifier: MIT
"""The recorder's side of the event memory (src/recording/memory/event_memory.h) in plain Python, so that
the hook is tested without the recorder: make the memory, run a program with it, read what came."""
import collections
import os
import struct
import subprocess

HOOK = os.environ.get('STALLPROF_HOOK', '')  # the built hook's directory

MAGIC = 0x31304D454D505453
VERSION, SLOTS, RING, PAGE = 1, 512, 65536, 4096
SLOT_BYTES = PAGE + RING
MEMORY_BYTES = PAGE + SLOTS * SLOT_BYTES

# Fields a kind has in the memory (src/event/event.h without thread and process); s: a text.
KINDS = {
    30: ('framework', 'name:s version:s rank'),
    31: ('loader', 'loader kind:s batching:s start_method:s dataset:s workers prefetch batch_size '
                   'length pin_memory persistent in_order iterable file:s line package:s'),
    32: ('iterator', 'loader pass_ key duration cpu reused'),
    33: ('fetch', 'loader pass_ duration cpu batch worker ready end process_cpu bytes'),
    34: ('worker', 'key worker workers'),
    35: ('task', 'key worker batch fetch_begin fetch_end put_end cpu process_cpu bytes majflt '
                 'inblock'),
    36: ('optimizer', 'duration optimizer steps'),
    37: ('span', 'duration phase source name:s file:s line'),
    38: ('slow', 'duration index file:s samples slow median excess'),
    39: ('turns', 'duration turns line last file:s'),
    50: ('setting', 'name:s before:s after:s file:s line'),
    52: ('place', 'optimizer line function:s file:s'),
    61: ('source', 'source:s state why:s'),
}
UNSIGNED = {'key'}
TYPES = {kind: collections.namedtuple(name, 'pid tid at ' + ' '.join(
    field.split(':')[0] for field in fields.split())) for kind, (name, fields) in KINDS.items()}


TORCH_OF = '''
import importlib.util, os, runpy
def folder(package): return os.path.dirname(importlib.util.find_spec(package).origin)
print(runpy.run_path(os.path.join(folder('torch'), 'version.py'))['__version__'])
print(os.path.isdir(os.path.join(folder('torchdata'), 'stateful_dataloader')))
'''


def torch_of(python):
    """The version of the PyTorch that it has, '' for none, and whether it has torchdata's DataLoader. Neither is
    imported, which takes seconds."""
    found = subprocess.run([python, '-c', TORCH_OF], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    version, *more = found.stdout.decode().splitlines() or ['']
    return version, more == ['True']


def written(path, text):
    """The path of a file that is made there, with its folders."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)
    return path


class EventMemory:
    def __init__(self):
        self.fd = os.memfd_create('stallprof-events', os.MFD_CLOEXEC)
        os.ftruncate(self.fd, MEMORY_BYTES)
        os.pwrite(self.fd, struct.pack('<QIIII', MAGIC, VERSION, SLOTS, RING, 0), 0)
        self.path = '/proc/%d/fd/%d' % (os.getpid(), self.fd)

    def close_for_writers(self):
        os.pwrite(self.fd, struct.pack('<I', 1), 20)

    def owners(self):
        """(pid, start ticks) of each slot in use."""
        slots = (struct.unpack('<IIQ', os.pread(self.fd, 16, PAGE + i * SLOT_BYTES))
                 for i in range(SLOTS))
        return [(owner, ticks) for owner, _, ticks in slots if owner]

    def dropped(self):
        return sum(struct.unpack('<Q', os.pread(self.fd, 8, PAGE + i * SLOT_BYTES + 24))[0]
                   for i in range(SLOTS))

    def drain(self):
        """Every record since the last drain, in order of time."""
        events = []
        for i in range(SLOTS):
            base = PAGE + i * SLOT_BYTES
            owner, _, _, head, _ = struct.unpack('<IIQQQ', os.pread(self.fd, 32, base))
            tail, = struct.unpack('<Q', os.pread(self.fd, 8, base + 64))
            if head == tail:
                continue
            ring = os.pread(self.fd, RING, base + PAGE)
            events += parse(ring, owner, tail, head)
            os.pwrite(self.fd, struct.pack('<Q', head), base + 64)
        return sorted(events, key=lambda e: e.at)


def parse(ring, owner, tail, head):
    while tail < head:
        at = tail % RING
        size, kind, count = struct.unpack_from('<IHH', ring, at)
        assert size % 8 == 0 and 0 < size <= RING - at, (size, at)
        if kind:
            yield record(ring, owner, at, size, kind, count)
        tail += size
    assert tail == head


def record(ring, owner, at, size, kind, count):
    tid, _, when = struct.unpack_from('<IIQ', ring, at + 8)
    name, fields = KINDS[kind]
    fields = fields.split()
    assert len(fields) >= count, (name, count)
    end, at, values = at + size, at + 24, []
    for field in fields[:count]:
        number, = struct.unpack_from('<Q' if field in UNSIGNED else '<q', ring, at)
        at += 8
        if field.endswith(':s'):
            values.append(ring[at:at + number].decode())
            at += (number + 7) // 8 * 8
        else:
            values.append(number)
    assert at == end, (name, at, end)
    values += ['' if field.endswith(':s') else -1 for field in fields[count:]]  # not reported
    return TYPES[kind](owner, tid, when, *values)


class Run:
    """A program that ran with the hook: its status, output and events, by kind in `run.fetch` ..."""

    def __init__(self, command, memory=None, environment=None, path_after=(), cwd=None):
        memory = memory or EventMemory()
        env = dict(os.environ, STALLPROF_EVENTS=memory.path)
        env['PYTHONPATH'] = os.pathsep.join([HOOK] + list(path_after))
        env.update(environment or {})
        done = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        self.status = done.returncode
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        self.memory = memory
        self.events = memory.drain()

    def __getattr__(self, name):
        if name not in {kind for kind, _ in KINDS.values()}:
            raise AttributeError(name)
        return [e for e in self.events if type(e).__name__ == name]
