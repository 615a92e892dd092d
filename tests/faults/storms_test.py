# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: many processes, threads and kills. STALLPROF_STORM, STALLPROF_KILLS: how many."""
import os
import random
import re
import signal
import subprocess
import time

from faults import STALLPROF, Case, children, main, until

STORM = int(os.environ.get("STALLPROF_STORM", "5000"))
KILLS = int(os.environ.get("STALLPROF_KILLS", "8"))
HOURS = 3600


class Storms(Case):
    def storm(self, what):
        """How many there were, and the recording."""
        words, recording = self.words(os.environ["STALLPROF_STORMS"], what, str(STORM))
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HOURS)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertNotIn(b"still written", done.stderr)  # the recorder ended in time
        made, rate = map(int, done.stdout.split())
        self.assertEqual(made, STORM)
        print("figures: %d %s, %d a second" % (made, what, rate))
        return recording

    def counted(self, recording, kind):
        """Distinct ones that the recording names, and those that it counts as lost."""
        names, lost = set(), 0
        with subprocess.Popen([os.environ["STALLPROF_DUMP"], recording], stdout=subprocess.PIPE,
                              universal_newlines=True, errors="replace") as dump:
            for line in dump.stdout:
                found = re.match(r"\S+ %s (?:process|thread)=(\d+) " % kind, line)
                if found:
                    names.add(found[1])
                found = re.match(r"\S+ loss kind=(?:perf_lost|short_lived|lives_full)\b.*\bcount=(\d+)", line)
                lost += int(found[1]) if found else 0
        self.assertEqual(dump.returncode, 0)
        return len(names), lost

    def test_row_61_a_storm_of_processes(self):
        seen, lost = self.counted(self.storm("processes"), "process")
        print("figures: %d seen, %d counted as lost" % (seen, lost))
        self.assertGreaterEqual(seen + lost, STORM * 0.999)

    def test_row_62_a_storm_of_threads(self):
        recording = self.storm("threads")
        seen, lost = self.counted(recording, "thread")
        print("figures: %d seen, %d counted as lost" % (seen, lost))
        self.assertGreaterEqual(seen + lost, STORM * 0.999)
        shown = subprocess.run([STALLPROF, "report", recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def killed(self, script, victim):
        """A run in which one of its processes is killed at a random instant: its status and standard output."""
        words, recording = self.words("sh", "-c", script)
        front = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b"recording to", front.stderr.readline())
        pid = until(lambda: victim(front) or front.poll() is not None, "a process")
        time.sleep(random.uniform(0, 0.1))
        if pid is not True:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = front.communicate(timeout=60)
        self.assertNotIn(b"the recorder died", err)
        self.assertTrue(self.events(recording, "command_end"))
        return front.returncode, out

    def test_kills_of_the_command_and_of_its_workers(self):
        random.seed(3)

        def command(front):
            return len(children(front.pid)) == 2 and children(front.pid)[1]

        def worker(front):
            return command(front) and children(command(front)) and children(command(front))[0]
        late = 0
        for case in (("sleep 0.1; sleep 0.05; exit 3", command, (3, b""), (-signal.SIGKILL, b"")),
                     ("sleep 0.1; echo $?", worker, (0, b"0\n"), (0, b"137\n"))):
            script, victim, whole, cut = case
            met = 0
            while met < KILLS:  # what had ended before its kill is no kill
                ended = self.killed(script, victim)
                self.assertIn(ended, (whole, cut))
                met += ended == cut
                late += ended != cut
                self.assertLess(late, 10 * KILLS, "no kill meets its process")
        print("figures: %d kills each, %d more came too late" % (KILLS, late))


if __name__ == "__main__":
    main()
