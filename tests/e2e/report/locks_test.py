# SPDX-License-Identifier: MIT
"""Workers of a real loader that wait for each other's lock, and the same without it."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
PYTHON = os.environ.get("STALLPROF_TORCH_PYTHON", "/usr/bin/python3")
PROGRAM = """
import contextlib, fcntl, multiprocessing, sys, time, torch
from torch.utils.data import DataLoader, Dataset

@contextlib.contextmanager
def locked():
    with open("lock", "w") as file:
        {"flock": fcntl.flock, "lockf": fcntl.lockf}[sys.argv[1]](file, fcntl.LOCK_EX)
        yield

class Slow(Dataset):
    def __init__(self):
        self.lock = multiprocessing.Lock() if sys.argv[1] == "semaphore" else None
    def __len__(self): return 100000
    def __getitem__(self, i):
        with contextlib.nullcontext() if sys.argv[1] == "none" else self.lock or locked():
            time.sleep(0.002)
        return torch.ones(4)

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
until = time.monotonic() + 6
for batch in DataLoader(Slow(), batch_size=4, num_workers=3):
    model(batch).mean().backward()
    optimizer.step()
    if time.monotonic() > until: break
"""


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(has_torch(), "no torch for " + PYTHON)
class Locks(unittest.TestCase):
    def findings(self, lock):
        work = tempfile.mkdtemp(prefix="stallprof-locks-")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        # The budget for samples of six seconds that are enough beside other tests.
        subprocess.run([STALLPROF, "run", "--report", "none", "--budget", "5", "-o", "r.stallprof", "--", PYTHON, "-c",
                        PROGRAM, lock], cwd=work, check=True, timeout=120, stdout=subprocess.DEVNULL)
        report = subprocess.run([STALLPROF, "report", "--format", "json", "r.stallprof"], cwd=work, check=True,
                                timeout=120, stdout=subprocess.PIPE).stdout
        return {found["id"]: [fix["id"] for fix in found["advice"]] for found in json.loads(report)["findings"]}

    def test_a_lock_that_all_workers_share_is_found_and_more_workers_are_not_advised(self):
        for lock in "flock", "lockf", "semaphore":
            found = self.findings(lock)
            self.assertIn("transform.worker_lock", found, lock)
            self.assertNotIn("more_workers", sum(found.values(), []), lock)

    def test_without_it_none_is_found(self):
        found = self.findings("none")
        self.assertTrue(found)
        self.assertNotIn("transform.worker_lock", found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
