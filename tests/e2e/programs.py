# SPDX-License-Identifier: MIT
"""What the tests of whole programs share: to run one, and to wait for what it does. On the path of every
suite (tests/run_suite.py)."""
import os
import subprocess
import time

NOBODY = 65534
NOBODY_ELSE = 54321  # has no process here, so that what this user may have is all for us
# Far above any wait that these tests expect; reached only by a hang.
PATIENCE = 60


def run(words, status=0, **how):
    """Runs a program that must end with that status."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=120, **how)
    if done.returncode != status:
        raise AssertionError("%s: %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
    return done


def ordinary(test, user, *programs):
    """What makes a child (preexec_fn) that user, without other groups; `test` is skipped where a program that it needs is
    closed to that user."""
    def become():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    for program in programs:
        if subprocess.run(["test", "-x", program], preexec_fn=become, check=False).returncode != 0:
            test.skipTest(program + " is closed to other users")
    return become


def until(condition, what, patience=PATIENCE, period=0.005):
    """What `condition` returns, as soon as that is true; `what`: for the failure, a text or its maker."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(period)
    raise AssertionError("waited in vain for " + (what() if callable(what) else what))
