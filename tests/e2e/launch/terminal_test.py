# SPDX-License-Identifier: MIT
"""Job control: what a person at a terminal does to a job, under bash -i."""
import os
import pty
import re
import select
import signal
import time
import unittest

from harness import Case, content, main, probe, until

TICK = ("import time\nfor i in range(600): print('tick', i, flush=True); time.sleep(0.1)")


class Terminal:
    """An interactive bash on a terminal of its own."""

    def __init__(self, directory):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       dict(os.environ, PS1="PROMPT> ", TERM="dumb"))
        self.seen = b""
        self.wait(rb"PROMPT> ")

    def type(self, text):
        self.seen = b""
        os.write(self.fd, text)

    def read(self, limit):
        if select.select([self.fd], [], [], limit)[0]:
            try:
                self.seen += os.read(self.fd, 4096)
            except OSError:
                pass

    def wait(self, pattern):
        def found():
            self.read(0.05)
            return re.search(pattern, self.seen)
        return until(found, repr(pattern) + " on the terminal", 30)

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


@unittest.skipUnless(os.path.exists("/bin/bash"), "bash is not here")
class JobControl(Case):
    def setUp(self):
        super().setUp()
        self.terminal = Terminal(self.dir)
        self.addCleanup(self.terminal.close)
        with open(self.path("tick.py"), "w") as script:
            script.write(TICK)

    def line(self, *command):
        words, recording = self.words(*command)
        return " ".join(words).encode() + b"\n", recording

    def ticking(self):
        """Starts a job that ticks; its recording, once it has ticked."""
        line, recording = self.line("python3", "-S", "tick.py")
        self.terminal.type(line)
        self.terminal.wait(rb"tick 3\r")
        return recording

    def test_ctrl_c_ends_the_job_as_without_us(self):
        recording = self.ticking()
        self.terminal.type(b"\x03")
        self.terminal.wait(rb"KeyboardInterrupt")
        self.terminal.wait(rb"PROMPT> ")
        self.terminal.type(b"echo RC=$?\n")
        self.assertEqual(self.terminal.wait(rb"RC=(\d+)\r").group(1), b"130")
        self.assertIn("signal=2", self.events(recording, "command_end")[0])

    def test_ctrl_backslash_quits(self):
        self.terminal.type(b"ulimit -c 0\n")
        line, _ = self.line("sleep", "60")
        self.terminal.type(line)
        self.terminal.wait(rb"recording to")
        time.sleep(0.1)
        self.terminal.type(b"\x1c")
        self.terminal.wait(rb"PROMPT> ")
        self.terminal.type(b"echo RC=$?\n")
        self.assertEqual(self.terminal.wait(rb"RC=(\d+)\r").group(1), b"131")

    def test_ctrl_c_reaches_a_job_that_catches_it_once_each_time(self):
        log = self.path("log")
        line, _ = self.line(probe("counter"), log)
        self.terminal.type(line)
        until(lambda: "ready" in content(log), "the command")
        job = os.tcgetpgrp(self.terminal.fd)
        self.addCleanup(os.killpg, job, signal.SIGKILL)  # it outlives its terminal
        for _ in range(20):
            self.terminal.type(b"\x03")
            time.sleep(0.1)
        time.sleep(0.2)
        with open(log) as lines:
            self.assertEqual(lines.read().split("\n").count("2 0"), 20)

    def test_ctrl_z_stops_and_fg_resumes(self):
        self.ticking()
        self.terminal.type(b"\x1a")
        self.terminal.wait(rb"Stopped")
        self.terminal.wait(rb"PROMPT> ")
        self.terminal.type(b"")
        self.terminal.read(0.6)
        self.assertNotIn(b"tick", self.terminal.seen)
        self.terminal.type(b"fg\n")
        self.terminal.wait(rb"tick \d+\r")
        self.terminal.type(b"\x1a")
        self.terminal.wait(rb"Stopped")
        self.terminal.type(b"bg\n")
        self.terminal.wait(rb"tick \d+\r")
        self.terminal.type(b"fg\n")
        self.terminal.wait(rb"tick \d+\r")
        self.terminal.type(b"\x03")
        self.terminal.wait(rb"KeyboardInterrupt")

    def test_ctrl_z_has_its_status(self):
        self.ticking()
        self.terminal.type(b"\x1a")
        self.terminal.wait(rb"Stopped")
        self.terminal.type(b"echo RC=$?\n")
        self.assertEqual(self.terminal.wait(rb"RC=(\d+)\r").group(1), b"%d" % (128 + signal.SIGTSTP))
        self.terminal.type(b"fg\n")
        self.terminal.wait(rb"tick \d+\r")
        self.terminal.type(b"\x03")
        self.terminal.wait(rb"KeyboardInterrupt")

    def test_ctrl_z_on_a_job_that_ignores_it_stops_nothing(self):
        with open(self.path("tick.py"), "w") as script:
            script.write("import signal\nsignal.signal(signal.SIGTSTP, signal.SIG_IGN)\n" + TICK)
        self.ticking()
        self.terminal.type(b"\x1a")
        self.terminal.wait(rb"tick \d*9\r")
        self.assertNotIn(b"Stopped", self.terminal.seen)
        self.terminal.type(b"\x03")
        self.terminal.wait(rb"KeyboardInterrupt")

    def test_a_job_that_stops_itself_gives_the_terminal_back_and_fg_resumes_it(self):
        with open(self.path("stop.sh"), "w") as script:
            script.write("kill -STOP $$; echo went on")
        line, _ = self.line("sh", "stop.sh")
        self.terminal.type(line)
        self.terminal.wait(rb"Stopped[^\n]*\n(?s:.*)PROMPT> ")
        self.terminal.type(b"fg\n")
        self.terminal.wait(rb"went on\r")
        self.terminal.wait(rb"PROMPT> ")

    def test_a_job_in_the_background_that_reads_the_terminal_is_stopped_until_fg(self):
        line, _ = self.line("head", "-n", "1")
        self.terminal.type(line.strip() + b" &\n")
        self.terminal.wait(rb"\[1\] \d+\r\n")
        self.terminal.type(b"until jobs -l | grep 'tty input'; do sleep 0.1; done; echo it is\n")
        self.terminal.wait(rb"\nit is\r")
        self.terminal.type(b"fg\n")
        self.terminal.wait(rb"head -n 1\r")
        self.terminal.type(b"typed\n")
        self.terminal.wait(rb"typed\r\n(?s:.*)typed\r\n")
        self.terminal.wait(rb"PROMPT> ")


if __name__ == "__main__":
    main()
