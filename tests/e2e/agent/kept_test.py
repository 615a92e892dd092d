# SPDX-License-Identifier: MIT
"""What agents and CUPTI handed over, byte for byte, in runs that were kept: read again by today's
code to the same events. tests/fixtures/activity has one of each layout of CUPTI's records; those
made by the fakes are made again by `kept_test.py --write` (STALLPROF_BUILD names the build tree).
h200-13.0 are of trainings of tools/gpu on an NVIDIA H200, CUPTI 13.0.85: the first 1.9 s of
pageable_copy, and profiled without its larger buffers, where torch.profiler has CUPTI twice."""
import collections
import ctypes
import glob
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ['STALLPROF_BUILD']
FAKES = os.path.join(BUILD, 'fakes')
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')
FIXTURES = os.path.join(ROOT, 'tests/fixtures/activity')
MADE = {'11.8': 'libcupti.so.11.8', '12.4': 'libcupti.so.12', '12.8': 'libcupti.so.12',
        '13.0': 'libcupti.so.13'}
WORK = ['threads=2', 'names=3', 'launches=60', 'copies=4', 'syncs=2', 'graphs=2', 'sleep=200']
REAL = next(filter(os.path.exists, (folder + '/libcupti.so.13' for folder in (
    '/usr/local/cuda/lib64', '/usr/local/cuda/extras/CUPTI/lib64',
    ROOT + '/.cache/cuda/nvidia/cu13/lib'))), None)
STEP, FULL = struct.Struct('<IIqQ'), 3  # recording/activity/activity_keep.h
KERNEL, END = 10, 12


def dumped(kept):
    return subprocess.run([BUILD + '/bin/stallprof-dump', '--activity', kept], check=True, timeout=60,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout


def unzipped(name, folder):
    kept = os.path.join(folder, 'kept')
    with gzip.open(name) as packed, open(kept, 'wb') as out:
        out.write(packed.read())
    return kept


def full_buffers(kept):
    with open(kept, 'rb') as file:
        file.read(8)
        while len(head := file.read(STEP.size)) == STEP.size:
            step, _, _, length = STEP.unpack(head)
            content = file.read(length)
            if step == FULL:
                yield content


def write():
    for version, library in MADE.items():
        with tempfile.TemporaryDirectory() as folder:
            kept = folder + '/kept'
            # Killed, so that one buffer is never returned.
            subprocess.run([BUILD + '/bin/stallprof', 'run', '--gpu', '-o', folder + '/run.stallprof',
                            '--report', 'none', '--', FAKES + '/agent_gpu_job',
                            'cupti=%s/cupti-%s/%s' % (FAKES, version, library), *WORK, 'launches=20',
                            'end=kill'],
                           env=dict(os.environ, STALLPROF_KEEP_ACTIVITY=kept), timeout=60)
            name = os.path.join(FIXTURES, 'fake-' + version)
            with open(kept, 'rb') as file, open(name + '.kept.gz', 'wb') as out:
                with gzip.GzipFile('', 'wb', 9, out, 0) as packed:
                    packed.write(file.read())
            with open(name + '.txt', 'w') as out:
                out.write(dumped(kept))


class Kept(unittest.TestCase):
    def each(self):
        for name in sorted(glob.glob(FIXTURES + '/*.kept.gz')):
            with self.subTest(name=os.path.basename(name)), tempfile.TemporaryDirectory() as folder:
                yield name, unzipped(name, folder)

    def test_a_kept_run_gives_the_events_it_gave(self):
        seen = 0
        for name, kept in self.each():
            with open(name.replace('.kept.gz', '.txt')) as expected:
                self.assertEqual(dumped(kept), expected.read())
            seen += 1
        self.assertGreaterEqual(seen, len(MADE))

    def test_every_launch_and_copy_of_the_job_is_in_them(self):
        for name, kept in self.each():
            if not os.path.basename(name).startswith('fake-'):
                continue
            uses = collections.Counter()
            for use in re.findall(r' device_use .*', dumped(kept)):
                kind = re.search(r' kind=(\w+)', use)
                uses[kind.group(1) if kind else 'kernel'] += int(re.search(r' count=(\d+)', use)[1])
            self.assertEqual(uses, {'kernel': 80, 'to_device': 4, 'graph': 2})

    @unittest.skipUnless(REAL, 'no libcupti.so.13 of the toolkit or of scripts/setup')
    def test_the_real_libcupti_walks_the_buffers_of_its_layout_alike(self):
        walk = ctypes.CDLL(REAL).cuptiActivityGetNextRecord
        # Of the fake those of its last 20 were never returned.
        for name, kernels in (('fake-13.0', 60), ('h200-13.0-copies', 948)):
            with self.subTest(name=name):
                self.walk_alike(walk, name, kernels)

    def walk_alike(self, walk, name, kernels):
        kinds, results = collections.Counter(), set()
        with tempfile.TemporaryDirectory() as folder:
            buffers = list(full_buffers(unzipped(FIXTURES + '/%s.kept.gz' % name, folder)))
        for content in buffers:
            memory = ctypes.create_string_buffer(content, len(content))
            record, result = ctypes.c_void_p(), 0
            while not result:
                result = walk(memory, ctypes.c_size_t(len(content)), ctypes.byref(record))
                if not result:
                    kinds[ctypes.cast(record, ctypes.POINTER(ctypes.c_uint32))[0]] += 1
            results.add(result)
        self.assertEqual(results, {END})  # to the last byte
        self.assertEqual(kinds[KERNEL], kernels)


if __name__ == '__main__':
    write() if sys.argv[1:] == ['--write'] else unittest.main()
