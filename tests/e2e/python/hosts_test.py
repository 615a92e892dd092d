#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python that is hard to find: renamed, stripped, in other namespaces, behind a seccomp filter."""
import os
import shutil
import subprocess
import tempfile
import unittest

from stacks_test import BIN, PYTHONS, Recording, record

SLEEPS = 'import time\ndef rest():\n  time.sleep(0.7)\nrest()\n'


def may(*words):
    """True where the host lets us make that namespace."""
    return subprocess.run([*words, 'true'], capture_output=True, check=False).returncode == 0


def library_of(python):
    """The libpython that an interpreter is linked to."""
    script = ('import sysconfig, os; v = sysconfig.get_config_var; '
              'print(os.path.join(v("LIBDIR") or "", v("INSTSONAME") or ""))')
    path = subprocess.run([python, '-c', script], capture_output=True, text=True,
                          check=False).stdout.strip()
    return path if '.so' in path and os.path.exists(path) else None


class Hosts(unittest.TestCase):
    def assert_seen(self, run):
        self.assertIn('"rest"', {node['function'] for node in run.nodes.values()}, run.sources)
        self.assertEqual(run.sources['python_stacks'][0], 'full')

    def test_a_renamed_program(self):
        with tempfile.TemporaryDirectory() as directory:
            # A link would be read back as the name behind it.
            path = shutil.copy(os.path.realpath(PYTHONS['system']), directory + '/train-server')
            self.assert_seen(record([path, '-c', SLEEPS]))

    def test_a_program_whose_symbol_is_gone(self):
        """Then the section .PyRuntime is used."""
        with open(os.path.realpath(PYTHONS['system']), 'rb') as file:
            data = file.read()
        if b'\0_PyRuntime\0' not in data:
            self.skipTest('its symbols are in a library')
        with tempfile.TemporaryDirectory() as directory:
            path = directory + '/python3.11'
            with open(path, 'wb') as file:
                file.write(data.replace(b'\0_PyRuntime\0', b'\0_PyRuntimx\0'))
            os.chmod(path, 0o755)
            if subprocess.run([path, '-c', 'import time'], capture_output=True,
                              check=False).returncode != 0:
                self.skipTest('such a program does not run here')
            self.assert_seen(record([path, '-c', SLEEPS]))

    def test_a_file_of_another_mount_namespace(self):
        if not may('unshare', '--mount'):
            self.skipTest('no mount namespace here')
        with tempfile.TemporaryDirectory() as directory:
            script = ('mount -t tmpfs tmpfs %s && cp %s %s/hidden && exec %s/hidden -c "$0"'
                      % (directory, os.path.realpath(PYTHONS['system']), directory, directory))
            self.assert_seen(record(['unshare', '--mount', 'sh', '-c', script, SLEEPS]))

    def test_threads_with_numbers_of_their_own(self):
        if not may('unshare', '--pid', '--fork'):
            self.skipTest('no pid namespace here')
        for version in ('3.8', '3.12', 'system'):
            if version in PYTHONS:
                self.assert_seen(record(['unshare', '--pid', '--fork', PYTHONS[version], '-c',
                                         SLEEPS]))

    def test_without_process_vm_readv_it_is_read_through_proc(self):
        deny = os.environ.get('STALLPROF_DENY')
        if deny is None:
            self.skipTest('STALLPROF_DENY is not set')
        with tempfile.TemporaryDirectory() as directory:
            path = directory + '/r.stallprof'
            subprocess.run([deny, 'process_vm_readv', '--', BIN + '/stallprof', 'run',
                            '--report', 'none', '-o', path, '--', PYTHONS['system'], '-c', SLEEPS],
                           check=False, stderr=subprocess.PIPE)
            self.assert_seen(Recording(path))

    def test_two_runtimes_in_one_process(self):
        libraries = sorted({os.path.realpath(found) for found in map(library_of, PYTHONS.values()) if found})
        if not libraries:
            self.skipTest('no CPython here that is a library')
        if len(libraries) == 1:  # loaded from two files it is two
            folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, folder)
            libraries.append(shutil.copy(libraries[0], folder))
        words = []
        for library, name in zip(libraries, ('first', 'second')):
            words += [library, 'import time\ndef %s():\n  time.sleep(2.5)\n%s()\n' % (name, name)]
        run = record([BIN + '/two_runtimes', *words])
        functions = {node['function'] for node in run.nodes.values()}
        self.assertLessEqual({'"first"', '"second"'}, functions, run.sources)

    def test_a_version_that_is_not_known_is_said(self):
        for path in ('~/.pyenv/versions/3.7.16/bin/python3', '~/.pyenv/versions/3.6.15/bin/python3'):
            path = os.path.expanduser(path)
            if not os.path.exists(path):
                continue
            run = record([path, '-c', SLEEPS])
            self.assertEqual(run.slices, [])
            self.assertNotEqual(run.sources['python_stacks'][0], 'full')


if __name__ == '__main__':
    unittest.main()
