# SPDX-License-Identifier: MIT
"""Every signal reaches the command exactly once, however it was sent."""
import ctypes
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from harness import Case, content, main, probe, until

# Between two signals: longer than the judge's window, so that each is a case of its own.
APART = 0.075
# Senders of "each pid" are taken for one within the judge's window: one that took longer, on a host that
# stood still, may have sent two.
AT_ONCE = 0.02
DELIVERIES = int(os.environ.get("STALLPROF_DELIVERIES", "200"))


def session_of(sid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[3]) == sid:
                        found.append(int(name))
            except (OSError, IndexError):
                pass
    return found


class Signals(Case):
    def start(self):
        log = self.path("log%d" % next(self.numbers))
        words, recording = self.words(probe("counter"), log)
        front = subprocess.Popen(words, stderr=subprocess.DEVNULL, preexec_fn=os.setsid)
        self.addCleanup(lambda: front.poll() is None and os.killpg(front.pid, signal.SIGKILL))
        until(lambda: "ready" in content(log), "the command")
        return front, log, recording

    def counts(self, log, number):
        with open(log) as lines:
            return sum(1 for line in lines if line.split()[0] == str(number))

    def deliver(self, session, send):
        """DELIVERIES times, each of which the command must see once; the recording. `send`: False where it took
        too long, which does not count. The next is sent when the one
        before has come: of standard signals that wait the kernel keeps one, so on a host that stands still for
        longer than they are apart two would be one before anybody of ours saw them."""
        front, log, recording = session
        pids = session_of(front.pid)
        self.assertEqual(len(pids), 3)  # front, recorder, command
        sent = slow = 0
        while sent < DELIVERIES:
            at_once = send(front.pid, pids) is not False
            time.sleep(APART)
            until(lambda: self.counts(log, signal.SIGTERM) > sent + slow, "signal %d" % (sent + 1))
            if at_once:
                sent += 1
                self.assertEqual(self.counts(log, signal.SIGTERM) - slow, sent, send.__name__)
            else:
                time.sleep(0.5)  # for its second
                slow = self.counts(log, signal.SIGTERM) - sent
        time.sleep(0.2)  # for one too many
        self.assertEqual(self.counts(log, signal.SIGTERM) - slow, DELIVERIES, send.__name__)
        os.kill(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)
        return recording

    def test_each_comes_once_to_the_front_to_the_group_and_to_each_pid_in_any_order(self):
        def alone(front, _):
            os.kill(front, signal.SIGTERM)

        def group(front, _):
            os.killpg(front, signal.SIGTERM)

        def each(front, pids):
            began = time.monotonic()
            for pid in random.sample(pids, len(pids)):
                os.kill(pid, signal.SIGTERM)
                time.sleep(random.choice((0, 0, 0.001)))
            return time.monotonic() - began < AT_ONCE

        ways = (alone, group, each)
        sessions = [self.start() for _ in ways]
        with ThreadPoolExecutor(len(ways)) as senders:  # side by side: they sleep, mostly
            to_front, to_group, _ = senders.map(self.deliver, sessions, ways)
        seen = [e for e in self.events(to_front, "signal") if "signal=15" in e]
        self.assertEqual(len(seen), DELIVERIES)
        self.assertTrue(all("forwarded=1" in e for e in seen), seen[:3])
        self.assertFalse([e for e in self.events(to_group, "signal")
                          if "signal=15" in e and "forwarded=1" in e])

    def test_every_catchable_signal_is_passed_on_once(self):
        front, log, _ = self.start()
        stops = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
        skipped = (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR2, 32, 33)  # the last two are the C library's own
        numbers = [n for n in range(1, 65) if n not in skipped]
        until(lambda: self.blocks(front.pid, signal.SIGTSTP), "the front")  # it stops by them before
        for number in numbers:
            if number not in stops:
                os.kill(front.pid, number)
        until(lambda: self.counts(log, signal.SIGCONT), "SIGCONT", 10)  # which would take back the others
        for number in stops:
            os.kill(front.pid, number)
        until(lambda: sum(self.counts(log, n) for n in numbers) >= len(numbers), "all signals", 10)
        time.sleep(0.1)
        self.assertEqual({n: self.counts(log, n) for n in numbers}, {n: 1 for n in numbers})
        os.killpg(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)

    def test_a_queued_signal_is_passed_on_with_its_value_and_its_sender_s_user(self):
        front, log, _ = self.start()
        info = struct.pack("iii4xiIq96x", signal.SIGRTMIN, 0, -1, os.getpid(), 4711, 23)  # siginfo_t, SI_QUEUE
        call = {"x86_64": 129, "aarch64": 138}[os.uname().machine]  # rt_sigqueueinfo
        self.assertEqual(ctypes.CDLL(None).syscall(call, front.pid, int(signal.SIGRTMIN), info), 0)
        until(lambda: self.counts(log, int(signal.SIGRTMIN)), "the signal", 10)
        self.assertIn("%d 23 by 4711" % signal.SIGRTMIN, content(log).split("\n"))
        os.killpg(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)

    def test_a_lone_term_is_passed_on_within_its_time_and_ends_us_within_two_seconds(self):
        words, recording = self.words("sleep", "60")
        words = [w if w != "none" else "text" for w in words]  # with the default report
        front = subprocess.Popen(words, stderr=subprocess.PIPE)
        err = front.stderr.readline()
        self.assertIn(b"recording to", err)
        began = time.monotonic()
        front.terminate()
        self.assertEqual(front.wait(60), -signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn(b"for the report: stallprof report", front.stderr.read())
        front.stderr.close()

    def test_a_command_that_has_left_our_group_is_ended_by_timeout_too(self):
        words, recording = self.words(sys.executable, "-c", "import os, time; os.setpgrp(); time.sleep(60)")
        self.assertEqual(self.run_words(["timeout", "--kill-after=20", "2", *words]).returncode, 124)
        self.assertTrue(self.events(recording, "command_end"))

    def blocks(self, pid, number):
        mask = re.search(r"^SigBlk:\t(\w+)$", content("/proc/%d/status" % pid), re.M).group(1)
        return int(mask, 16) >> (number - 1) & 1

    def test_what_stops_a_job_stops_the_command_and_then_us(self):
        words, _ = self.words("sleep", "60")
        front = subprocess.Popen(words, stderr=subprocess.DEVNULL, preexec_fn=os.setpgrp)
        self.addCleanup(lambda: front.poll() is None and os.killpg(front.pid, signal.SIGKILL))
        until(lambda: self.blocks(front.pid, signal.SIGTSTP), "the front")
        command = self.command_of(front)
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            os.kill(front.pid, number)
            _, status = os.waitpid(front.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status), status)
            self.assertEqual(os.WSTOPSIG(status), number)
            self.assertTrue(self.stopped(command))
            os.kill(front.pid, signal.SIGCONT)
            until(lambda: not self.stopped(command), "the command")
        front.terminate()
        self.assertEqual(front.wait(60), -signal.SIGTERM)

    def stopped(self, pid):
        return "T (stopped)" in content("/proc/%d/status" % pid)

    def command_of(self, front):
        return int(content("/proc/%d/task/%d/children" % (front.pid, front.pid)).split()[-1])

    def lead(self, *command, **how):
        """A run that leads a session of its own."""
        words, _ = self.words(*command)
        front = subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True, **how)
        self.addCleanup(lambda: front.poll() is None and os.killpg(front.pid, signal.SIGKILL))
        return front

    def test_a_command_that_stops_itself_stops_us_and_is_continued_with_us(self):
        front = self.lead("sh", "-c", "for i in 1 2 3; do kill -STOP $$; echo $i; done", stdout=subprocess.PIPE)
        self.addCleanup(front.stdout.close)
        for number in (b"1\n", b"2\n", b"3\n"):
            _, status = os.waitpid(front.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status), status)
            self.assertEqual(os.WSTOPSIG(status), signal.SIGSTOP)
            os.kill(front.pid, signal.SIGCONT)
            self.assertEqual(front.stdout.readline(), number)
        self.assertEqual(front.wait(60), 0)

    def test_a_stopped_group_goes_on_where_we_alone_are_continued(self):
        front, log, _ = self.start()
        for sent in (1, 2, 3):
            os.killpg(front.pid, signal.SIGSTOP)
            until(lambda: all(map(self.stopped, session_of(front.pid))), "the stop")
            os.kill(front.pid, signal.SIGCONT)
            until(lambda: not any(map(self.stopped, session_of(front.pid))), "the group")
            until(lambda: self.counts(log, signal.SIGCONT) >= sent, "the signal")
        self.assertEqual(self.counts(log, signal.SIGCONT), 3)
        os.kill(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)

    def test_we_go_on_where_the_command_alone_is_continued(self):
        front, log, _ = self.start()
        command = self.command_of(front)
        os.kill(command, signal.SIGSTOP)
        until(lambda: self.stopped(front.pid), "our stop")
        os.kill(command, signal.SIGCONT)
        until(lambda: not self.stopped(front.pid), "us")
        self.assertEqual(self.counts(log, signal.SIGCONT), 1)
        os.kill(front.pid, signal.SIGUSR2)
        self.assertEqual(front.wait(60), 0)

    def test_what_the_command_sends_to_its_group_comes_once(self):
        log = self.path("own")
        words, _ = self.words("sh", "-c", "trap 'echo x >> %s' USR1; kill -USR1 0; sleep 0.3" % log)
        front = subprocess.run(words, stderr=subprocess.PIPE, preexec_fn=os.setsid, timeout=60)
        self.assertEqual(front.returncode, 0, front.stderr)
        self.assertEqual(content(log), "x\n")


if __name__ == "__main__":
    main()
