# SPDX-License-Identifier: MIT
"""kill -9 of ours, at any instant: the job goes on unchanged and the recording can be read."""
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from harness import Case, content, main, probe, until


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as pids:
            return [int(p) for p in pids.read().split()]
    except OSError:
        return []


def named(pid):
    try:
        with open("/proc/%d/comm" % pid) as comm:
            return comm.read().strip()
    except OSError:
        return ""


def runs(pid):
    """A zombie, of which nothing runs any more, waits for whoever is init here."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# Starts a command that is to be killed when it is itself.
LAUNCHER = """
import ctypes, signal, subprocess, sys
libc = ctypes.CDLL(None)
subprocess.call(sys.argv[1:], preexec_fn=lambda: libc.prctl(1, ctypes.c_ulong(signal.SIGKILL)))
"""

KILLS = int(os.environ.get("STALLPROF_KILLS", "200"))


class Kills(Case):
    def start(self, *command, **how):
        # A session of its own, as a scheduler's: a sender of the job's own group is another case.
        words, recording = self.words(*command)
        how.setdefault("start_new_session", True)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        front = subprocess.Popen(words, cwd=self.dir, **how)
        self.addCleanup(self.end, front)
        return front, recording

    def end(self, front):
        if front.poll() is None:
            os.killpg(front.pid, signal.SIGKILL)
            front.wait()
        for stream in (front.stdout, front.stderr):
            if stream:
                stream.close()

    def recorder_of(self, front):
        return until(lambda: [p for p in children(front.pid) if named(p) == "stallprof-rec"],
                     "the recorder")[0]

    def kill(self, pid, number=signal.SIGKILL):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def test_random_kills_of_the_recorder(self):
        random.seed(1)

        def killed(after):
            """What the front said."""
            front, recording = self.start("sh", "-c", "echo a; sleep 0.05; echo b; exit 3")
            victims = until(lambda: children(front.pid) or front.poll() is not None, "a child")
            time.sleep(after)
            if victims is not True:
                self.kill(victims[0])  # the recorder is forked first
            out, err = front.communicate(timeout=60)
            self.assertEqual((front.returncode, out), (3, b"a\nb\n"), err)
            if b"unrecorded" not in err:
                self.dump(recording)
            return err

        with ThreadPoolExecutor(2) as two:  # side by side: they sleep, mostly
            said = list(two.map(killed, [random.uniform(0, 0.1) for _ in range(KILLS)]))
        # The instants were spread over the run: most kills hit a recorder at work.
        at_work = sum(b"recorder died" in err for err in said)
        print("figures: %d of %d kills met the recorder at work" % (at_work, KILLS))
        self.assertGreater(at_work, KILLS / 4)
        self.assertLess(sum(b"unrecorded" in err for err in said), KILLS * 3 / 4)

    def front_killed(self, done):
        """False where the command, and so the front, had ended before its kill: on a host that stood still."""
        front, recording = self.start("sh", "-c", "sleep 0.3; echo ok > %s" % done,
                                      stdout=subprocess.DEVNULL)
        self.assertIn(b"recording to", front.stderr.readline())  # the command runs from here on
        time.sleep(random.uniform(0, 0.2))
        front.kill()
        status = front.wait(60)
        until(lambda: os.path.exists(done), "the command's own end")
        text = until(lambda: "clean_end" in self.dump(recording) and self.dump(recording),
                     "the recorder's end")
        self.assertEqual(len([l for l in text.splitlines() if " command_end" in l]), 1)
        self.assertIn(status, (0, -signal.SIGKILL))
        return status != 0

    def test_random_kills_of_the_front_leave_the_command_and_its_recording(self):
        random.seed(2)
        wanted = KILLS // 10 if KILLS <= 200 else KILLS
        killed = late = 0
        while killed < wanted:
            if self.front_killed(self.path("done%d" % (killed + late))):
                killed += 1
            else:
                late += 1
                self.assertLess(late, wanted, "no kill meets the front")
        print("figures: %d kills of the front, %d more came after its end" % (killed, late))

    def test_a_command_that_is_to_die_with_its_launcher_does(self):
        words, recording = self.words("sh", "-c", "echo $$ > pid; exec sleep 120")
        launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, *words], cwd=self.dir,
                                    start_new_session=True, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        self.addCleanup(self.kill_group, launcher.pid)
        command = int(until(lambda: content(self.path("pid")).strip(), "the command"))
        launcher.kill()
        launcher.wait(60)
        until(lambda: not runs(command), "the command's end")
        until(lambda: "clean_end" in self.dump(recording), "the recorder's end")

    @staticmethod
    def kill_group(pid):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_after_the_recorders_death_signals_still_come_once(self):
        log = self.path("log")
        front, _ = self.start(probe("counter"), log, stdout=subprocess.DEVNULL)
        until(lambda: "ready" in content(log), "the command")
        self.kill(self.recorder_of(front))
        time.sleep(0.05)
        for sent in range(10):
            front.send_signal(signal.SIGTERM)
            # Two that wait in a busy front are one: the kernel does not count standard signals.
            until(lambda: content(log).split("\n").count("15 0") > sent, "signal %d" % (sent + 1))
        front.send_signal(signal.SIGUSR2)
        _, err = front.communicate(timeout=60)
        self.assertEqual(front.returncode, 0, err)
        with open(log) as lines:
            self.assertEqual(lines.read().split("\n").count("15 0"), 10)

    def test_a_stopped_recorder_is_a_gap_and_swallows_no_signal(self):
        log = self.path("log")
        front, recording = self.start(probe("counter"), log, stdout=subprocess.DEVNULL)
        until(lambda: "ready" in content(log), "the command")
        recorder = self.recorder_of(front)
        self.kill(recorder, signal.SIGSTOP)
        time.sleep(0.1)
        front.send_signal(signal.SIGTERM)
        time.sleep(2.6)
        self.kill(recorder, signal.SIGCONT)
        time.sleep(0.1)
        front.send_signal(signal.SIGUSR2)
        front.communicate(timeout=60)
        with open(log) as lines:
            self.assertEqual(lines.read(), "ready\n15 0\n12 0\n")
        self.assertTrue([e for e in self.events(recording, "gap") if "recorder stopped" in e])

    def test_a_killed_command_gives_its_signal(self):
        front, recording = self.start("sleep", "60")
        until(lambda: len(children(front.pid)) == 2 or None, "the command")
        front.stderr.readline()
        self.kill(children(front.pid)[1])
        front.communicate(timeout=60)
        self.assertEqual(front.returncode, -signal.SIGKILL)
        self.assertIn("signal=9", self.events(recording, "command_end")[0])


if __name__ == "__main__":
    main()
