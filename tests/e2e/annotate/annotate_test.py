# SPDX-License-Identifier: MIT
"""stallprof/annotate.h in real programs: the example trainer's steps and phases against its own
clock, and exact counts however a process ends."""
import collections
import json
import os
import re
import sys
import tempfile
import unittest

from programs import run

BUILD = os.environ['STALLPROF_BUILD']
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'agent'))
import own_clock  # noqa: E402

STALLPROF = os.path.join(BUILD, 'bin', 'stallprof')
MARKS = os.path.join(BUILD, 'fakes', 'annotate_marks')
TRAINER = os.path.join(BUILD, 'bin', 'example_trainer')


class Annotated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.recording = os.path.join(self.folder, 'run.stallprof')

    def record(self, *command, **how):
        return run([STALLPROF, 'run', '-o', self.recording, '--report', 'none', '--no-python', '--',
                    *command], **how)

    def report(self):
        return json.loads(run([STALLPROF, 'report', '--format', 'json', self.recording]).stdout)

    def events(self):
        """Lines of the dump by kind, and how often each pid is the process of a thread."""
        lines = run([os.path.join(BUILD, 'bin', 'stallprof-dump'), self.recording]).stdout
        kinds = collections.defaultdict(list)
        for line in lines.splitlines():
            words = line.split(' ')
            if words[0].isdigit():
                kinds[words[1]].append(line)
        return kinds

    def test_the_reports_steps_and_phases_are_the_trainers_own(self):
        truth = os.path.join(self.folder, 'truth')
        self.record(TRAINER, '--steps', '200', '--truth', truth)
        report = self.report()
        self.assertEqual(report['steps']['source'], 'marks')
        with open(truth) as file:
            steps = own_clock.truth_of(file.read())
        own_clock.check(self, report, steps, ('extract', 'transform', 'compute', 'periodic'))
        self.assertEqual(report['breakdown']['scope'], 'window')

    def test_pauses_of_sampling_are_recorded_and_compared_and_lose_nothing(self):
        truth = os.path.join(self.folder, 'truth')
        for percent, steps in (('0', 200), ('50', 12000)):  # the first pause is after 5 s
            with self.subTest(percent=percent):
                self.recording = os.path.join(self.folder, percent + '.stallprof')
                self.record(TRAINER, '--steps', str(steps), '--truth', truth,
                            env=dict(os.environ, STALLPROF_PAUSE_PERCENT=percent))
                report, pauses = self.report(), self.events()['pause']
                overhead = report['coverage']['overhead']
                with open(truth) as file:
                    own_clock.check(self, report, own_clock.truth_of(file.read()),
                                    ('extract', 'transform', 'compute', 'periodic'))
                if percent == '0':
                    self.assertEqual(pauses, [])
                    self.assertIsNone(overhead['paused_ratio'])
                    self.assertIsNone(overhead['slowdown_pairs'])
                    continue
                self.assertGreater(len(pauses), 3)
                paused = sum(int(re.search(r' duration=(\d+)', line).group(1)) for line in pauses)
                self.assertAlmostEqual(overhead['paused_ratio'], paused / report['run']['wall_ns'], places=6)
                self.assertGreater(overhead['slowdown_pairs'], 0)
                self.assertLessEqual(overhead['slowdown_pairs'], len(pauses))
                lost = {loss['name'] for loss in report['coverage']['losses']}
                self.assertLessEqual(lost, {'tick_missed', 'threads_skipped'})

    def check_counts(self, out, events):
        pids = [int(word) for word in out.split()]
        threads = {}  # thread -> pid
        for line in events['thread']:
            found = re.search(r' thread=(\d+) process=(\d+) tid=(\d+)', line)
            threads[found.group(1)] = int(found.group(3))
        for kind, want in (('range', 'name="step" domain="stallprof"'),
                           ('span', 'phase=compute source=mark')):
            counts = collections.Counter()
            for line in events[kind]:
                self.assertIn(want, line)
                counts[threads[re.search(r' thread=(\d+) ', line).group(1)]] += 1
            self.assertEqual(counts, {pids[0]: 40, pids[1]: 40})

    def test_every_mark_that_ended_is_there_however_the_process_ends(self):
        for end, status in (('exit', 0), ('kill', -9), ('_exit', 0)):
            with self.subTest(end=end):
                self.recording = os.path.join(self.folder, end + '.stallprof')
                done = self.record(MARKS, '40', end, status=status)
                self.check_counts(done.stdout, self.events())

    def test_an_environment_of_another_run_marks_nothing_in_this_one(self):
        self.record('/usr/bin/env', 'STALLPROF_RECORDING=/another', MARKS, '3', 'exit')
        events = self.events()
        self.assertEqual((events['range'], events['span']), ([], []))

    def test_without_stallprof_a_program_is_as_it_is(self):
        clean = {k: v for k, v in os.environ.items() if k != 'STALLPROF_EVENTS'}
        self.assertEqual(run([MARKS, '3', 'exit'], env=clean).stderr, '')
        for wrong in ('', '/etc/passwd', '/proc/self/maps', '/proc/1/fd/99999', '/dev/zero'):
            with self.subTest(wrong=wrong):
                self.assertEqual(run([MARKS, '3', 'exit'],
                                     env=dict(clean, STALLPROF_EVENTS=wrong)).stderr, '')


if __name__ == '__main__':
    unittest.main()
