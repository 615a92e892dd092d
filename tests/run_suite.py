#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one Python test file. usage: run_suite.py [--together N] FILE [CLASS.TEST...]

--together: N processes run its tests, each every N-th, where they share nothing and sleep for most of their time.
Prints a line `SKIPPED NAME: reason` for each test that did not run, which scripts/run_tests counts, and the CPU time
that all of it took.
Exit status: 0 all passed, 1 a failure, 77 where no test ran (what ctest reports as skipped)."""
import importlib.util
import os
import resource
import subprocess
import sys
import unittest

NOTHING_RAN = 77


class Result(unittest.TextTestResult):
    """Also counts what passed."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def load(path, names):
    """The file's tests, or those named. Its folder is on the path, for the helpers beside it, and that of programs.py."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[0:1] = [os.path.dirname(path), os.path.join(here, "e2e")]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    return loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)


def names_in(suite):
    """CLASS.TEST of each."""
    for part in suite:
        yield from names_in(part) if isinstance(part, unittest.TestSuite) else [".".join(part.id().split(".")[1:])]


def run_together(count, path, names):
    """Shows what each process printed, and returns a status as of one."""
    all_names = list(names_in(load(path, names)))
    parts = [subprocess.Popen([sys.executable, __file__, path, *all_names[first::count]], stdout=subprocess.PIPE)
             for first in range(min(count, len(all_names)))]
    for part in parts:
        sys.stdout.buffer.write(part.communicate()[0])
        sys.stdout.flush()
    statuses = {part.returncode for part in parts}
    return 1 if statuses - {0, NOTHING_RAN} or not parts else min(statuses)


def main():
    if sys.argv[1] == "--together":
        return run_together(int(sys.argv[2]), os.path.abspath(sys.argv[3]), sys.argv[4:])
    path = os.path.abspath(sys.argv[1])
    suite = load(path, sys.argv[2:])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    for test, reason in result.skipped:
        print("SKIPPED %s: %s" % (".".join(test.id().split(".")[1:]), reason))
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print("CPU %.1f s" % sum(usage.ru_utime + usage.ru_stime for usage in usages))
    sys.stdout.flush()
    if not result.wasSuccessful():
        return 1
    if result.testsRun == 0:
        print("no test in " + path)
        return 1
    return 0 if result.passed else NOTHING_RAN


if __name__ == "__main__":
    sys.exit(main())
