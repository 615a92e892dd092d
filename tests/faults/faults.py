# SPDX-License-Identifier: MIT
"""What the tests of the fault matrix share: the launcher's harness, and how a fault is made."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "launch"))

from harness import DUMP, PATIENCE, STALLPROF, Case, content, main, probe, until  # noqa: E402,F401


def children(pid):
    return [int(p) for p in content("/proc/%d/task/%d/children" % (pid, pid)).split()]
