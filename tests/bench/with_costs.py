#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a script as if it had been started itself, and writes what it cost when it ends.

usage: with_costs.py FILE SCRIPT ARG...

FILE: JSON with the CPU seconds of the process and of all it waited for, by the kernel's account of
it. Whoever profiles the script is not in it."""

import atexit
import json
import os
import resource
import runpy
import sys


def write(path, pid):
    if os.getpid() != pid:
        return
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with open(path, "w") as out:
        json.dump({"cpu": sum(u.ru_utime + u.ru_stime for u in usage),
                   "switches": sum(u.ru_nvcsw + u.ru_nivcsw for u in usage)}, out)


def main():
    path, script = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(script)
    atexit.register(write, os.path.abspath(path), os.getpid())
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
