# SPDX-License-Identifier: MIT
"""What the tests of the fault matrix share: the launcher's harness, and how a fault is made."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "launch"))

from harness import (DUMP, NOBODY, NOBODY_ELSE, PATIENCE, STALLPROF, Case, content, main,  # noqa: E402,F401
                     needs_mount, needs_unshare, ordinary, probe, until)

# A recording as it was made once, of a training with one worker.
RECORDING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recordings", "v1")


def children(pid):
    return [int(p) for p in content("/proc/%d/task/%d/children" % (pid, pid)).split()]
