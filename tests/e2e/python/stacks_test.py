#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python stacks as stallprof reads them, against what the program itself says it is doing, on each
CPython there is: STALLPROF_PYTHONS (paths, separated by colons), pyenv's, and the system's."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ['STALLPROF_BIN']
WANTED = ['3.%d' % minor for minor in range(8, 15)]
FREE = ['3.13t', '3.14t']  # free-threaded: no lock to wait for
VERSION = ('import sys; lock = getattr(sys, "_is_gil_enabled", lambda: True)(); '
           'print("%d.%d%s" % (*sys.version_info[:2], "" if lock else "t"))')


def interpreters():
    """{'3.11': path}: the first of each minor version, and the system's as 'system'."""
    pyenv = os.environ.get('PYENV_ROOT', os.path.expanduser('~/.pyenv'))
    paths = os.environ.get('STALLPROF_PYTHONS', '').split(':')
    paths += sorted(glob.glob(pyenv + '/versions/3.*/bin/python3'))
    paths += [found for found in map(shutil.which, ['python' + v for v in WANTED]) if found]
    found = {'system': '/usr/bin/python3'} if os.path.exists('/usr/bin/python3') else {}
    for path in filter(os.path.exists, paths):
        version = subprocess.run([path, '-c', VERSION], capture_output=True, text=True,
                                 check=False).stdout.strip()
        found.setdefault(version, path)
    return found


PYTHONS = interpreters()


@contextlib.contextmanager
def running(command):
    """Starts it and waits for "ready" on its stdout; gives it and the lines before."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE,
                               env=dict(os.environ, PYTHONIOENCODING='utf-8'))
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.decode().strip())
            if lines[-1] == 'ready':
                break
        yield process, lines[:-1]
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def read_stacks(pid, samples=1):
    run = subprocess.run([BIN + '/python_stacks', str(pid), str(samples)], capture_output=True,
                         check=False)
    return run.stdout.decode().splitlines()


class Recording:
    """The stacks of a recording, from stallprof-dump."""

    def __init__(self, path):
        text = subprocess.run([BIN + '/stallprof-dump', path], capture_output=True, text=True,
                              check=True).stdout
        self.nodes, self.slices, self.sources = {}, [], {}
        for line in text.splitlines():
            kind = line.split(' ', 2)[1] if ' ' in line else ''
            field = {name: value for name, value in re.findall(r' (\w+)=("[^"]*"|\S+)', line)}
            if kind == 'stack':
                self.nodes[field['stack']] = field
            elif kind == 'stack_slice':
                self.slices.append(field)
            elif kind == 'source':
                self.sources[field['source'].strip('"')] = (field.get('state', 'absent'),
                                                            field.get('why', '""').strip('"'))

    def stack(self, node):
        found = []
        while node in self.nodes:
            frame = self.nodes[node]
            file = os.path.basename(frame.get('file', '""').strip('"'))
            found.append('%s:%s:%s' % (frame['function'].strip('"'), file, frame.get('line', 0)))
            node = frame.get('caller')
        return found[::-1]

    def stacks(self):
        return [self.stack(s['stack']) for s in self.slices if 'stack' in s]


def record(command, *options, **more):
    directory = tempfile.mkdtemp()
    try:
        path = directory + '/r.stallprof'
        subprocess.run([BIN + '/stallprof', 'run', '--report', 'none', '-o', path, *options, '--',
                        *command], cwd=HERE, check=False, stderr=subprocess.PIPE, **more)
        return Recording(path)
    finally:
        shutil.rmtree(directory)


# The program ends with its input, which ends a second after it said that all its threads wait.
UNTIL_SEEN = '''d=$(mktemp -d) && mkfifo "$d/in" && "$0" target.py 3 < "$d/in" | {
exec 4> "$d/in"; while read -r line && [ "$line" != ready ]; do :; done; sleep 1; rm -r "$d"; }'''


class Stacks(unittest.TestCase):
    def each(self):
        for version in WANTED + FREE + ['system']:
            if version not in PYTHONS:
                print('no CPython %s here: not checked' % version, file=sys.stderr)
                continue
            yield version, PYTHONS[version]

    def test_stacks_are_the_programs_own_at_any_depth(self):
        """Up to 3.10 frames are objects of their own, of which fewer can be read."""
        for version, python in self.each():
            for depth in '3', '400', '900', *(['1900'] if version not in ('3.8', '3.9', '3.10') else []):
                with running([python, 'target.py', depth]) as (process, wanted):
                    got = [line for line in read_stacks(process.pid)
                           if not line.startswith('%d ' % process.pid)]
                    self.assertEqual(len(wanted), 3)
                    self.assertEqual(sorted(got), sorted(wanted))

    def test_a_frame_that_python_hides_is_no_frame_of_the_programs(self):
        """Under the __init__ of a class that is called at one place again and again, from 3.13 on."""
        program = ('import time\nclass Sleeps:\n def __init__(self, seconds):\n  time.sleep(seconds)\n'
                   'def make(seconds):\n return Sleeps(seconds)\n'
                   'for _ in range(200): make(0)\nfor _ in range(20): make(0.05)\n')
        for version, python in self.each():
            stacks = record([python, '-c', program]).stacks()
            below = {stack[i + 1].split(':')[0].rpartition('.')[2] for stack in stacks
                     for i, frame in enumerate(stack[:-1]) if frame.startswith('make:')}
            self.assertEqual(below, {'__init__'}, version)
            self.assertFalse([s for s in stacks if any(f.startswith('__init__:__init__:') for f in s)], version)

    def test_a_recording_has_them(self):
        for version, python in self.each():
            run = record(['sh', '-c', UNTIL_SEEN, python])
            self.assertEqual(run.sources['python_stacks'][0], 'full')
            stacks = {' '.join(stack) for stack in run.stacks()}
            for end in ('through_generator:target.py:38 generator:target.py:31 ',
                        'deep:target.py:45 deep:target.py:46 wait:target.py:24',
                        '<module>:made up.py:301 wait:target.py:24'):
                self.assertTrue(any(end in stack for stack in stacks), (version, end, stacks))

    def test_no_stack_is_shown_that_never_was(self):
        for version, python in self.each():
            with running([python, 'flicker.py', '10']) as (process, _):
                samples = read_stacks(process.pid, 1500)
                wrong = [sample for sample in samples if impossible(sample, 11)]
                self.assertGreater(len(samples), 1000)
                print('%s: %d of %d samples show what never was' % (version, len(wrong), len(samples)),
                      file=sys.stderr)
                self.assertLess(len(wrong), len(samples) * 0.001 + 1, wrong[:3])

    def test_a_generator_that_runs_and_rests_by_turns_has_its_caller(self):
        """It has none while it rests, and is read when it has just been left."""
        program = ('import time\ndef numbers():\n n = 0\n while True:\n  yield n\n  n += 1\n'
                   'def use(until):\n for n in numbers():\n  if n % 1000 == 0 and time.monotonic() > until: return\n'
                   'use(time.monotonic() + 3)\n')
        for version, python in self.each():
            stacks = [s for s in record([python, '-c', program], '--budget', '25').stacks()
                      if any(f.startswith(('numbers:', 'use:')) for f in s)]
            alone = [s for s in stacks if not any(f.startswith('use:') for f in s)]
            print('%s: %d of %d stacks have no caller' % (version, len(alone), len(stacks)), file=sys.stderr)
            self.assertGreater(len(stacks), 5, version)
            self.assertLessEqual(len(alone), 1 + len(stacks) * 0.05, version)

    def test_a_frame_inside_the_iterator_of_its_for_statement_is_marked(self):
        """Called from C or resumed in place, the first time or specialised; nothing else called at that line is."""
        program = ('import itertools, sys, time\n'
                   'class Items:\n'
                   ' def __iter__(self): return self\n'
                   ' def __next__(self):\n  time.sleep(self.seconds); return 0\n'
                   ' def __getitem__(self, at):\n  time.sleep(self.seconds); return 0\n'
                   'def items(seconds):\n'
                   ' while True:\n  time.sleep(seconds); yield 0\n'
                   'def asleep(_): time.sleep(0.02)\n'
                   'def in_c(n):\n for _ in itertools.islice(map(time.sleep, itertools.repeat(0.02)), n): pass\n'
                   'def in_class(n):\n for _ in itertools.islice(Items(), n): pass\n'
                   'def in_generator(n, seconds):\n'
                   ' for _ in items(seconds):\n  n -= 1\n  if n == 0: return\n'
                   'def in_body(n):\n for _ in range(n): time.sleep(0.02); asleep(_)\n'
                   'def in_item(n, some):\n for _ in range(n): some[0]\n'
                   'def in_subject(n):\n while n:\n  n -= 1\n  for _ in [asleep(n)]: pass\n'
                   'some = Items()\n'
                   'for Items.seconds in 0, 0.02:\n'
                   ' in_item(200 if Items.seconds == 0 else 12, some)\n'
                   ' in_generator(200 if Items.seconds == 0 else 12, Items.seconds)\n'
                   'in_c(12); in_class(12); in_body(12); in_subject(12)\n')
        for version, python in self.each():
            run, seen = record([python, '-c', program]), {}
            for node in run.nodes.values():
                function = node['function'].strip('"')
                if function.startswith('in_') or function == '<module>':
                    seen.setdefault(function, set()).add('iterates' in node and node['iterates'] != '0')
            inside = {'in_c', 'in_class', 'in_generator'}
            self.assertEqual(set(seen) - {'<module>'}, inside | {'in_body', 'in_item', 'in_subject'}, version)
            for function, iterates in seen.items():
                self.assertEqual(iterates, {function in inside}, (version, function))

    def test_exec_in_place_is_followed(self):
        python = PYTHONS['system']
        again = 'import sys, time\ndef second():\n  time.sleep(0.6)\nsecond()\n'
        first = ('import os, sys, time\ndef first():\n  time.sleep(0.6)\nfirst()\n'
                 'os.execv(sys.executable, [sys.executable, "-c", %r])' % again)
        run = record([python, '-c', first])
        functions = {node['function'] for node in run.nodes.values()}
        self.assertIn('"first"', functions)
        self.assertIn('"second"', functions)
        for stack in map(run.stack, run.nodes):
            text = ' '.join(stack)
            self.assertFalse('first:' in text and 'second:' in text, text)

    def test_forked_children_and_those_that_end_at_once_are_seen_or_not_but_harmless(self):
        script = ('import os, time\n'
                  'def child():\n  time.sleep(0.4)\n  os._exit(0)\n'
                  'for i in range(20):\n  if os.fork() == 0: os._exit(0)\n'
                  'if os.fork() == 0: child()\n'
                  'for i in range(21): os.wait()\n')
        run = record([PYTHONS['system'], '-c', script])
        self.assertIn('"child"', {node['function'] for node in run.nodes.values()})

    def test_a_program_without_python_has_none_and_it_is_said(self):
        run = record(['sh', '-c', 'sleep 0.3'])
        self.assertEqual(run.slices, [])
        self.assertEqual(run.sources['python_stacks'], ('absent', 'no Python program was seen'))

    def test_no_python_reads_none(self):
        run = record([PYTHONS['system'], '-c', 'import time; time.sleep(0.3)'], '--no-python')
        self.assertEqual(run.slices, [])
        self.assertIn('--no-python', run.sources['python_stacks'][1])

    def test_the_gil_is_waited_for_in_turns(self):
        script = ('import threading, time\nstop = time.time() + 2\n'
                  'def spin():\n  while time.time() < stop: sum(range(200))\n'
                  'threads = [threading.Thread(target=spin) for i in range(3)]\n'
                  'for t in threads: t.start()\nfor t in threads: t.join()\n')
        for version, python in self.each():
            if version in FREE:
                continue
            run = record([python, '-c', script])
            samples = {}
            for piece in run.slices:
                if any('spin' in frame for frame in run.stack(piece.get('stack'))):
                    gil = piece.get('gil', 'unknown')
                    samples[gil] = samples.get(gil, 0) + int(piece.get('samples', 1))
            total = sum(samples.values())
            self.assertGreater(total, 50)
            print('%s: %s of %d samples' % (version, samples, total), file=sys.stderr)
            self.assertGreater(samples.get('waits', 0) / total, 0.5)
            self.assertLess(samples.get('holds', 0) / total, 0.45)

    def test_a_process_killed_at_any_moment_ends_the_recording_well(self):
        for _ in range(3):
            process = subprocess.Popen([PYTHONS['system'], 'flicker.py', '10'], cwd=HERE,
                                       stdout=subprocess.DEVNULL)
            time.sleep(0.3)
            reader = subprocess.Popen([BIN + '/python_stacks', str(process.pid), '300'],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.1)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.assertEqual(reader.wait(timeout=20) & ~1, 0)  # 1: nothing left to read


def impossible(sample, deeps):
    names = [frame.split(':')[0] for frame in sample.split()[1:]]
    hot = [name for name in names if name.startswith(('hot', 'leaf'))]
    if names[:1] != ['<module>'] or names.count('deep') > deeps:
        return True
    if hot and names.count('deep') != deeps:
        return True
    return hot not in ([], ['hot_a'], ['hot_b'], ['hot_a', 'leaf_a'], ['hot_b', 'leaf_b'])


if __name__ == '__main__':
    unittest.main()
