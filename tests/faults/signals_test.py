# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: signals."""
import os
import signal
import subprocess
import time

from faults import Case, children, content, main, probe, until

DELIVERIES = int(os.environ.get("STALLPROF_DELIVERIES", "40"))
# The judge takes what one sender does within 20 ms for one signal: an attempt that took longer, on a host
# that stood still, is made again.
AT_ONCE = 0.005
WINDOW = 0.045  # what comes to each process within 50 ms was sent to all
APART = 0.09  # of two attempts: longer than the judge waits for a signal's other copies


class Signals(Case):
    def start(self, **options):
        """A counter under our front, which leads a session."""
        log = self.path("log")
        words, _ = self.words(probe("counter"), log)
        front = subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True, **options)
        self.addCleanup(lambda: front.poll() is None and os.killpg(front.pid, signal.SIGKILL))
        until(lambda: "ready" in content(log), "the command")
        return front, log

    def check_each_comes_once(self, log, deliveries, deliver):
        """`deliver` sends one TERM by several ways, and returns whether it was quick enough to count."""
        sent = surplus = 0
        while sent < deliveries:
            before = content(log).count("15 0")
            at_once = deliver()
            until(lambda: content(log).count("15 0") > before, "the signal")
            time.sleep(APART if at_once else 10 * APART)  # what is not counted is not the next one's either
            if at_once:
                sent += 1
                surplus += content(log).count("15 0") - before - 1
        self.assertEqual(surplus, 0, "of %d" % deliveries)

    def end(self, front):
        os.kill(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)

    def test_row_05_one_term_to_the_front_and_at_once_to_its_group_comes_once(self):
        """As `timeout 10 stallprof run ...` sends it."""
        front, log = self.start()

        def deliver():
            began = time.monotonic()
            os.kill(front.pid, signal.SIGTERM)
            os.killpg(front.pid, signal.SIGTERM)
            return time.monotonic() - began < AT_ONCE

        self.check_each_comes_once(log, DELIVERIES, deliver)
        self.end(front)

    def test_row_05_a_signal_to_the_group_while_one_of_ours_stands_still_comes_once(self):
        """Longer than the judge's window, as on a host that has no CPU for it."""
        front, log = self.start()
        recorder = children(front.pid)[0]
        for sent, still in enumerate((front.pid, recorder) * 3, 1):
            os.kill(still, signal.SIGSTOP)
            until(lambda: "T (stopped)" in content("/proc/%d/status" % still), "its stop")
            os.killpg(front.pid, signal.SIGTERM)
            time.sleep(0.1)
            os.kill(still, signal.SIGCONT)
            time.sleep(APART)
            self.assertEqual(content(log).count("15 0"), sent, "the front" if still == front.pid else "the recorder")
        self.end(front)

    def test_row_05_one_term_to_the_front_and_to_its_group_while_it_has_no_cpu_comes_once(self):
        front, log = self.start()

        def deliver():
            began = time.monotonic()
            os.kill(front.pid, signal.SIGTERM)
            time.sleep(0.002)  # it has read the first
            os.kill(front.pid, signal.SIGSTOP)
            os.killpg(front.pid, signal.SIGTERM)
            at_once = time.monotonic() - began < 2 * AT_ONCE
            time.sleep(0.15)
            os.kill(front.pid, signal.SIGCONT)
            return at_once

        self.check_each_comes_once(log, 5, deliver)
        self.end(front)

    def test_row_05_a_signal_to_each_process_that_comes_while_the_front_has_no_cpu_to_read_it_comes_once(self):
        """The front has begun its turn and stands still; then the signal comes, to the others a little later."""
        slow = self.path("slow")
        front, log = self.start(env=dict(os.environ, LD_PRELOAD=os.environ["STALLPROF_SLOW"], STALLPROF_SLOW=slow))
        recorder, command = children(front.pid)

        def deliver():
            open(slow, "w").close()
            os.kill(front.pid, signal.SIGWINCH)
            until(lambda: not os.path.exists(slow), "its turn")
            time.sleep(0.055)
            began = time.monotonic()
            os.kill(front.pid, signal.SIGTERM)
            time.sleep(0.03)
            os.kill(recorder, signal.SIGTERM)
            os.kill(command, signal.SIGTERM)
            return time.monotonic() - began < WINDOW

        self.check_each_comes_once(log, 5, deliver)
        self.end(front)


if __name__ == "__main__":
    main()
