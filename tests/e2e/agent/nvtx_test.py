# SPDX-License-Identifier: MIT
"""What a program says by NVTX is what the report says: its steps and phases against its own clock,
with no GPU and no CUDA; and what --map makes of the names that it has."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import own_clock

BUILD = os.environ['STALLPROF_BUILD']
FAKES = os.path.join(BUILD, 'fakes')
STALLPROF = os.path.join(BUILD, 'bin', 'stallprof')
HERE = os.path.dirname(os.path.abspath(__file__))
TRAINER = os.path.join(FAKES, 'agent_nvtx_trainer')
SHIM = os.path.join(FAKES, 'libagent_nvtx_shim.so')
STEPS = 60
PHASES = ('extract', 'transform', 'compute')
MAPS = ['--map', 'iteration*=step', '--map', 'read=extract', '--map', 'augment=transform', '--map',
        'forward*=compute']


def stallprof(*words, **how):
    return subprocess.run([STALLPROF, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=120, **how)


# NCCL announces a call before it reads its arguments: with no communicator it does no more.
NCCL_CALLS = """
import ctypes, sys
nccl = ctypes.CDLL(sys.argv[1])
for count in (1000, 1 << 20):  # of float32
    nccl.ncclAllReduce(None, None, ctypes.c_size_t(count), 7, 0, None, None)
    nccl.ncclBroadcast(None, None, ctypes.c_size_t(count), 7, 0, None, None)
"""


def find_nccl():
    places = ['/usr/local/cuda*/lib*', '/usr/lib/x86_64-linux-gnu'] + [
        os.path.join(path, 'nvidia', 'nccl', 'lib') for path in sys.path]
    return next((name for place in places
                 for name in sorted(glob.glob(os.path.join(place, 'libnccl.so.2')))), None)


class Libraries(unittest.TestCase):
    @unittest.skipUnless(find_nccl(), 'no libnccl.so.2 here')
    def test_the_real_nccl_says_its_collectives_and_their_bytes_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, 'run.stallprof')
            done = stallprof('run', '-o', recording, '--report', 'none', '--nvtx', '--',
                             sys.executable, '-c', NCCL_CALLS, find_nccl())
            self.assertEqual(done.returncode, 0, done.stderr)
            dump = subprocess.run([os.path.join(BUILD, 'bin', 'stallprof-dump'), recording],
                                  stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        ranges = re.findall(r' name="nccl(\w+)" domain="NCCL" bytes=(\d+)', dump)
        self.assertEqual(ranges, [('AllReduce', '4000'), ('Broadcast', '4000'),
                                  ('AllReduce', '4194304'), ('Broadcast', '4194304')])


@unittest.skipUnless(os.path.exists(TRAINER), 'built without the NVTX headers')
class Announced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.recording = os.path.join(folder.name, 'run.stallprof')

    def run_it(self, command, *options):
        done = stallprof('run', '-o', self.recording, '--report', 'none', *options, '--', *command,
                         env=dict(os.environ, NVTX_SHIM=SHIM))
        self.assertEqual(done.returncode, 0, done.stderr)
        return own_clock.truth_of(done.stdout)

    def report(self, *options):
        done = stallprof('report', '--format', 'json', *options, self.recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_named(self, command):
        steps = self.run_it([*command, str(STEPS)], '--nvtx')
        report = self.report()
        self.assertEqual(report['steps']['source'], 'nvtx')
        own_clock.check(self, report, steps, PHASES)
        self.assertLess(report['breakdown']['phase_ratio']['unknown'], 0.02)

    def check_mapped(self, command):
        steps = self.run_it([*command, str(STEPS), 'own'], *MAPS)
        report = self.report()  # the recording keeps the maps
        self.assertEqual(report['steps']['source'], 'nvtx')
        own_clock.check(self, report, steps, PHASES)

    def test_a_program_in_cpp_with_ranges_named_after_phases(self):
        self.check_named([TRAINER])

    def test_a_program_in_cpp_with_names_of_its_own(self):
        self.check_mapped([TRAINER])

    def test_a_program_in_python_with_ranges_named_after_phases(self):
        self.check_named([sys.executable, os.path.join(HERE, 'nvtx_trainer.py')])

    def test_a_program_in_python_with_names_of_its_own(self):
        self.check_mapped([sys.executable, os.path.join(HERE, 'nvtx_trainer.py')])

    def test_a_recording_is_read_again_with_other_maps(self):
        steps = self.run_it([TRAINER, str(STEPS), 'own'], '--nvtx')
        self.assertEqual(self.report()['steps']['source'], None)
        mapped = self.report(*MAPS)
        own_clock.check(self, mapped, steps, PHASES)
        other = self.report(*MAPS, '--map', 'augment=periodic')  # the later one counts
        self.assertEqual(other['breakdown']['phase_ratio']['transform'], 0)
        periodic = other['breakdown']['phase_ratio']['periodic']
        self.assertAlmostEqual(periodic, mapped['breakdown']['phase_ratio']['transform'], places=6)

    def test_a_map_that_is_none_is_an_error_before_anything_runs(self):
        for verb, status in (('run', 125), ('report', 2), ('export', 2)):
            words = {'run': ['--', 'true'], 'report': ['x.stallprof'],
                     'export': ['-f', 'chrome', 'x.stallprof']}[verb]
            done = stallprof(verb, '--map', 'fwd=computing', *words)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("--map takes NAME=PHASE, where PHASE is extract, ", done.stderr)
            self.assertIn("not 'fwd=computing'", done.stderr)
            self.assertEqual(done.stdout, '')


if __name__ == '__main__':
    unittest.main()
