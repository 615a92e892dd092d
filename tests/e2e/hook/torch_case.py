# SPDX-License-Identifier: MIT
"""What the tests with a real torch share: its Python, runs of train.py and of scripts, and checks of waits and tasks."""
import json
import os
import sys
import textwrap
import unittest

from harness import Run, torch_of

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get('STALLPROF_TORCH', sys.executable)
TRAIN = os.path.join(HERE, 'train.py')
TORCH, TORCHDATA = torch_of(PYTHON)

def train(*arguments):
    run = Run([PYTHON, TRAIN] + [str(a) for a in arguments])
    if run.status != 0:
        raise AssertionError(run.err)
    run.own = json.loads(run.out)
    run.batches = [f for f in run.fetch if not f.end]
    return run


def script(text, *arguments):
    run = Run([PYTHON, '-c', textwrap.dedent(text)] + list(arguments))
    if run.status != 0:
        raise AssertionError(run.err)
    return run


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Case(unittest.TestCase):
    def check_waits(self, run):
        """Each next() is timed inside the program's own timer, and nearly as long."""
        self.assertEqual(len(run.batches), len(run.own['waits']))
        self.assertEqual(run.memory.dropped(), 0)
        for fetch, own in zip(run.batches, run.own['waits']):
            self.assertLessEqual(fetch.duration, own)
        # Of waits that last: a busy host takes the CPU away between the two clocks at most of them.
        lost = [own - fetch.duration for fetch, own in zip(run.batches, run.own['waits']) if own > 2e6]
        self.assertLess(min(lost), 1e6)

    def check_tasks(self, run, batches):
        """Every delivered batch has its one task, made by the worker that the fetch names."""
        keys = {(i.pid, i.pass_): i.key for i in run.iterator}
        tasks = {(t.key, t.batch): t for t in run.task}
        self.assertEqual(len(tasks), len(run.task))
        for fetch in run.batches:
            task = tasks[keys[fetch.pid, fetch.pass_], fetch.batch]
            self.assertEqual(task.worker, fetch.worker)
            self.assertTrue(0 <= task.fetch_begin <= task.fetch_end <= task.put_end)
            self.assertLess(task.at + task.fetch_end, fetch.at + fetch.duration)
            self.assertLessEqual(task.cpu, task.fetch_end - task.fetch_begin)
        self.assertEqual({t.bytes for t in run.task} - {-1}, {4 * 16 * 4})  # -1: not read, of short ones
        self.assertEqual(len(run.batches), batches)
