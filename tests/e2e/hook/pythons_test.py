# SPDX-License-Identifier: MIT
"""The hook in Pythons of many versions, flags and surroundings, most of which never see torch."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import EventMemory, Run, written

PYTHON = sys.executable
# The versions a developer's pyenv holds; those that are not there are skipped.
PYENV = os.path.expanduser('~/.pyenv/versions')
SHOW = 'import sys; print(sys.modules.get("sitecustomize"), "stallprof_hook" in sys.modules)'


def pythons(pattern):
    return sorted(glob.glob(os.path.join(PYENV, pattern, 'bin', 'python')))


class Folder(tempfile.TemporaryDirectory):
    def write(self, name, text):
        return written(os.path.join(self.name, name), textwrap.dedent(text))


def plain(command, path=()):
    """The same without the hook."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
    env.pop('STALLPROF_EVENTS', None)
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class TheUsersSitecustomize(unittest.TestCase):
    def test_it_runs_once_and_is_the_module(self):
        folder = Folder()
        path = folder.write('sitecustomize.py', 'print("mine", __file__); mark = 7\n')
        run = Run([PYTHON, '-c', 'import sys; print(sys.modules["sitecustomize"].mark)'],
                  path_after=[folder.name])
        self.assertEqual((run.status, run.err), (0, ''))
        self.assertEqual(run.out, 'mine %s\n7\n' % path)
        folder.cleanup()

    def test_the_distributions_own_runs(self):
        probe = 'import sys; print(sys.modules.get("sitecustomize"))'
        run = Run([PYTHON, '-c', probe])
        self.assertEqual((run.status, run.out, run.err), plain([PYTHON, '-c', probe]))

    def assert_as_without_the_hook(self, text, program, complaint):
        folder = Folder()
        folder.write('sitecustomize.py', text)
        command = [PYTHON, '-c', program]
        run = Run(command, path_after=[folder.name])
        self.assertEqual((run.status, run.out, run.err), plain(command, [folder.name]))
        self.assertIn(complaint, run.err)
        folder.cleanup()

    def test_its_exceptions_are_reported_as_without_the_hook(self):
        self.assert_as_without_the_hook('raise ValueError("broken by its owner")\n',
                                        'import sys; print("sitecustomize" in sys.modules)',
                                        'broken by its owner')

    def test_an_import_error_in_it_is_reported_too(self):
        self.assert_as_without_the_hook('import no_such_module_at_all\n', 'pass',
                                        'no_such_module_at_all')

    def test_usercustomize_still_runs(self):
        folder = Folder()
        folder.write('usercustomize.py', 'print("user")\n')
        run = Run([PYTHON, '-c', 'pass'], path_after=[folder.name])
        self.assertEqual((run.status, run.out, run.err), (0, 'user\n', ''))
        folder.cleanup()


class WhatTheProgramSees(unittest.TestCase):
    def test_the_path_is_what_it_is_without_the_hook(self):
        probe = [PYTHON, '-c', 'import sys; print(sys.path, sys.flags)']
        run = Run(probe)
        self.assertEqual(run.out, plain(probe)[1])

    def test_children_inherit_the_environment(self):
        child = 'import sys; print("stallprof_hook" in sys.modules)'
        run = Run([PYTHON, '-c', 'import subprocess, sys; subprocess.run([sys.executable, "-c", '
                   + repr(child) + '])'])
        self.assertEqual((run.out, run.err), ('True\n', ''))

    def test_no_module_is_loaded_that_the_interpreter_has_not(self):
        probe = [PYTHON, '-c', 'import sys; print(" ".join(sorted(sys.modules)))']
        with_hook = set(Run(probe).out.split())
        self.assertEqual(with_hook - set(plain(probe)[1].split()), {'stallprof_hook'})

    def test_without_a_recorder_nothing_is_started(self):
        probe = 'import sys; print([type(f).__module__ for f in sys.meta_path])'
        run = Run([PYTHON, '-c', probe], environment={'STALLPROF_EVENTS': ''})
        self.assertNotIn('stallprof_hook', run.out)

    def test_no_event_memory_is_claimed_by_a_python_without_a_framework(self):
        self.assertEqual(Run([PYTHON, '-c', 'import json']).memory.owners(), [])

    def test_import_cost(self):
        """The budget is 2 ms; the least of ten, so that a busy machine does not decide."""
        memory, best = EventMemory(), 1e9
        for _ in range(10):
            run = Run([PYTHON, '-X', 'importtime', '-c', 'pass'], memory=memory)
            rows = re.findall(r'import time: *(\d+) \| *(\d+) \| *(\S+)', run.err)
            ours = [int(own) for own, _, name in rows
                    if name.startswith('stallprof_hook') or name == 'sitecustomize']
            self.assertTrue(ours)
            best = min(best, sum(ours))
        print('import cost: %d us' % best, file=sys.stderr)
        self.assertLess(best, 2000)


class Flags(unittest.TestCase):
    def test_isolated_and_without_environment_merely_lose_the_hook(self):
        for flag in ('-I', '-E', '-S', '-Es', '-IS'):
            command = [PYTHON, flag, '-c', SHOW]
            run = Run(command)
            self.assertEqual((run.status, run.out, run.err), plain(command), flag)
            self.assertIn('False', run.out, flag)

    def test_warnings_as_errors_and_bytes_warnings(self):
        run = Run([PYTHON, '-W', 'error', '-bb', '-X', 'dev', '-c', 'print("fine")'])
        self.assertEqual((run.status, run.out, run.err), (0, 'fine\n', ''))


class Versions(unittest.TestCase):
    def test_python_2_stays_silent(self):
        found = pythons('2.7.*')
        if not found:
            self.skipTest('no Python 2.7 under ' + PYENV)
        folder = Folder()
        folder.write('sitecustomize.py', 'print("mine")\n')
        for python in found:
            run = Run([python, '-c', 'import sys; print("sitecustomize" in sys.modules)'])
            self.assertEqual((run.status, run.out, run.err), (0, 'False\n', ''))
            run = Run([python, '-c', 'import sitecustomize'], path_after=[folder.name])
            self.assertEqual((run.status, run.out, run.err), (0, 'mine\n', ''))
        folder.cleanup()

    def test_old_python_3_stays_silent(self):
        found = pythons('3.6.*') + pythons('3.7.*')
        if not found:
            self.skipTest('no Python 3.6 or 3.7 under ' + PYENV)
        for python in found:
            run = Run([python, '-c', SHOW])
            self.assertEqual((run.status, run.err), (0, ''), python)
            self.assertIn('False', run.out, python)

    def test_the_extension_works_from_3_8_on(self):
        found = [p for minor in range(8, 20) for p in pythons('3.%d.*' % minor)]
        if not found:
            self.skipTest('no Python under ' + PYENV)
        folder = Folder()
        script = folder.write('use.py', '''
            import functools, inspect, os, pickle, sys
            import stallprof_hook
            from stallprof_hook import events
            assert events.ready()
            events.put(events.FRAMEWORK_SEEN, events.now(), 'name', 'ver\\u00e9sion')
            seen = []
            def original(a, b=2):
                "doc"
                return a + b
            module = sys.modules['__main__']
            f = original = events.Around(original, lambda a, k: (a, k),
                                         lambda token, args, result, ok: seen.append((result, ok)))
            assert f(1) == 3 and f(1, b=4) == 5 and seen == [(3, True), (5, True)]
            assert f.__name__ == 'original' and f.__doc__ == 'doc' and inspect.isfunction(f)
            assert str(inspect.signature(f)) == '(a, b=2)'
            assert pickle.loads(pickle.dumps(f)) is f
            class A:
                def __iter__(self): return self
                def __next__(self): raise StopIteration(4)
            A.__next__ = events.Around(A.__next__, None, lambda t, a, r, ok: seen.append(ok))
            assert list(A()) == [] and seen[-1] is False
            pid = os.fork()
            if pid == 0:
                events.put(events.FRAMEWORK_SEEN, events.now(), 'child', '')
                os._exit(0)
            os.waitpid(pid, 0)
            print('fine')
            ''')
        for python in found:
            run = Run([python, script])
            self.assertEqual((run.status, run.out, run.err), (0, 'fine\n', ''), python)
            self.assertEqual([f.name for f in run.framework], ['name', 'child'], python)
            self.assertEqual(run.framework[0].version, 'ver\u00e9sion')
            self.assertEqual(len({f.pid for f in run.framework}), 2)
        folder.cleanup()


if __name__ == '__main__':
    unittest.main()
