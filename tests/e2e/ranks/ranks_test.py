# SPDX-License-Identifier: MIT
"""Two ranks that really train together, by gloo on a CPU: their step times, their waits for each
other, and which of them the other waits for, against their own clocks."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ['STALLPROF_BUILD']
STALLPROF = os.path.join(BUILD, 'bin', 'stallprof')
TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'train.py')
STEPS = 100
ENOUGH_IN_ALL = 60
# A second. On a busy host samples become rare: then the report splits nothing by fewer than 30 stacks,
# and cannot resolve 60 ms of one step.
ENOUGH_HZ = 80


def python_with_torch():
    for python in ('/usr/bin/python3', sys.executable):
        check = 'import torch.distributed as d; exit(not d.is_available())'
        if os.path.exists(python) and subprocess.run([python, '-c', check],
                                                     stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


PYTHON = python_with_torch()


@unittest.skipUnless(PYTHON, 'no PyTorch with gloo here')
class Ranks(unittest.TestCase):
    def run_it(self, way, uneven):
        """(report, the ranks' own clocks by pid, of the report's window; rank 1's pid). The ranks mostly sleep:
        of 1 % of their CPU samples would be rare."""
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, 'run.stallprof')
            done = subprocess.run(
                [STALLPROF, 'run', '-o', recording, '--report', 'none', '--budget', '25', '--', PYTHON, TRAIN,
                 folder, str(STEPS), way, uneven], stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(subprocess.run(
                [STALLPROF, 'report', '--format', 'json', recording], stdout=subprocess.PIPE,
                universal_newlines=True, check=True, timeout=120).stdout)
            own = {}
            for trainer in report['trainers']:
                with open(os.path.join(folder, '%d.json' % trainer['pid'])) as file:
                    clock = json.load(file)
                at, first = clock['at'], -1 - trainer['steps']['window_count']
                own[trainer['pid']] = {'rank': clock['rank'], 'whole': at[-1] - at[first],
                                       'comm': sum(clock['comm'][first + 1:])}
        late = next(pid for pid, clock in own.items() if clock['rank'] == 1)
        return report, own, late

    def check_steps(self, report, own):
        self.assertEqual({trainer['pid']: trainer['rank'] for trainer in report['trainers']},
                         {pid: numbers['rank'] for pid, numbers in own.items()})
        for trainer in report['trainers']:
            self.assertEqual(trainer['steps']['count'], STEPS)
            whole = own[trainer['pid']]['whole']
            self.assertLess(abs(trainer['steps']['window_ns'] - whole), 0.05 * whole)

    def samples(self, report):
        """A second; and in the window. A busy host makes them rare."""
        hz = report['coverage']['overhead']['effective_hz'] or 0
        return hz, hz * report['steps']['window_ns'] * 1e-9

    def finding(self, report, name):
        return next((f for f in report['findings'] if f['id'] == name), None)

    def check_slow(self, way):
        report, own, late = self.run_it(way, 'slow')
        self.check_steps(report, own)
        _, samples = self.samples(report)
        if samples < ENOUGH_IN_ALL:
            self.skipTest('samples too rare on this host now')
        for trainer in report['trainers']:
            mine = own[trainer['pid']]
            comm = trainer['breakdown']['phase_ratio']['comm']
            # 4 standard deviations of a share of so many samples.
            self.assertLess(abs(comm - mine['comm'] / mine['whole']), 2 / samples ** 0.5 + 0.02)
        found = self.finding(report, 'comm.straggler_rank')
        self.assertIsNotNone(found)
        self.assertIn('rank 1 (process %d) ' % late, found['evidence'][0]['text'])
        self.assertIsNone(self.finding(report, 'comm.rank_imbalance'))

    def test_a_slow_rank_is_named_where_the_program_calls_its_collectives(self):
        self.check_slow('own')

    def test_a_slow_rank_is_named_where_ddp_calls_them_inside_backward(self):
        self.check_slow('ddp')

    def test_ranks_late_by_turns_are_uneven_and_none_is_the_slow_one(self):
        report, own, _ = self.run_it('own', 'turns')
        self.check_steps(report, own)
        hz, samples = self.samples(report)
        if hz < ENOUGH_HZ:
            self.skipTest('samples too rare on this host now')
        found = self.finding(report, 'comm.rank_imbalance')
        self.assertIsNotNone(found)
        waited = sum(mine['comm'] / mine['whole'] for mine in own.values()) / 2
        self.assertLess(abs(found['share_ratio'] - waited), 2 / samples ** 0.5 + 0.05)
        self.assertIsNone(self.finding(report, 'comm.straggler_rank'))


if __name__ == '__main__':
    unittest.main()
