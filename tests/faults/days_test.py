# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: a long run, by a clock that goes 600 times as fast. STALLPROF_HOURS: how long."""
import os
import re
import subprocess
import sys
import unittest

from faults import Case, main

HOURS = float(os.environ.get("STALLPROF_HOURS", "1"))
SPEED = 600
MB = 1 << 20
# As many short processes an hour, and others that stay.
CHURN = ("unset LD_PRELOAD; sleep 3600 & s=$!; end=$(($(date +%%s) + %d)); "
         "while [ $(date +%%s) -lt $end ]; do (:); (:); sleep 0.02; done; kill $s; exit 4")


# What a training does to a recorder: threads, reads, Python stacks, processes now and then.
TRAIN = """
import os, subprocess, sys, threading, time
end = time.monotonic() + float(sys.argv[1])
def read():
    while time.monotonic() < end:
        with open(sys.executable, "rb") as file: file.read(1 << 16)
        time.sleep(0.02)
for _ in range(8): threading.Thread(target=read, daemon=True).start()
while time.monotonic() < end:
    sum(range(10 ** 5))
    time.sleep(0.05)
    if time.time() % 10 < 0.1: subprocess.run(["true"])
"""


class Days(Case):
    def test_row_42_memory_and_disk_stay_flat_however_long_the_run(self):
        words, recording = self.words("sh", "-c", CHURN % (HOURS * 3600 / SPEED), options=("--hz", "1"))
        done = subprocess.run(words, stderr=subprocess.PIPE,
                              env=dict(os.environ, LD_PRELOAD=os.environ["STALLPROF_CLOCK"],
                                       STALLPROF_FAKE_SPEED=str(SPEED)))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.check_flat(recording, HOURS)

    @unittest.skipUnless("STALLPROF_REAL_HOURS" in os.environ, "needs hours: scripts/soak")
    def test_a_real_run(self):
        hours = float(os.environ["STALLPROF_REAL_HOURS"])
        words, recording = self.words(sys.executable, "-c", TRAIN, str(hours * 3600))
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.check_flat(recording, hours)

    def check_flat(self, recording, expected):
        rows = [re.match(r"(\d+) recorder .*?\brss=(\d+).*?\bwritten=(\d+)", line)
                for line in self.events(recording, "recorder")]
        rows = [(int(row[1]) / 1e9, int(row[2]), int(row[3])) for row in rows if row]
        hours = (rows[-1][0] - rows[0][0]) / 3600
        self.assertGreater(hours, expected * 0.8)
        self.assertLess(max(rss for _, rss, _ in rows), 64 * MB)
        quarter = len(rows) // 4
        first, last = rows[quarter:2 * quarter], rows[-quarter:]  # the start is over

        def mean(part):
            return sum(rss for _, rss, _ in part) / len(part)
        self.assertLess(mean(last) - mean(first), 2 * MB)
        self.assertLess((rows[-1][2] - rows[quarter][2]) / (rows[-1][0] - rows[quarter][0]) * 3600, 50 * MB)
        print("figures: %.1f hours, resident %.1f to %.1f MB, %.1f MB an hour" % (
            hours, mean(first) / MB, mean(last) / MB, rows[-1][2] / MB / hours))


if __name__ == "__main__":
    main()
