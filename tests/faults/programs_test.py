# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: programs that the hook does not fit, or that are started in unusual ways."""
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import textwrap
import unittest
import zipfile

from faults import NOBODY, PATIENCE, STALLPROF, Case, children, content, main, ordinary, probe, until

PYTHON = os.path.realpath(sys.executable)
EVERYBODYS_PYTHON = "/usr/bin/python3"
PUT = ("from stallprof_hook import events\n"
       "if events.ready(): events.put(events.FRAMEWORK_SEEN, events.now(), 'from_inside', 'v')\n")
WAIT = "import time; time.sleep(0.8)"


class Programs(Case):
    def report(self, recording):
        shown = self.run_words([STALLPROF, "report", recording])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return " ".join(shown.stdout.decode().split())

    def recorded(self, *words, **how):
        """The recording of a command whose output and status are as without us."""
        plain = self.run_words(list(words), **how)
        run, recording = self.words(*words)
        done = self.run_words(run, **how)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        ours = [line for line in done.stderr.splitlines() if not line.startswith(b"stallprof: ")]
        self.assertEqual(ours, plain.stderr.splitlines())
        return recording

    def test_row_11_the_commands_core_is_its_own_and_the_only_one(self):
        pattern = content("/proc/sys/kernel/core_pattern").strip()
        if not re.match(r"[\w.%]+$", pattern):
            self.skipTest("needs cores in the working directory")
        for name in ("QUIT", "ABRT", "SEGV"):
            place = self.path(name)
            os.mkdir(place)
            words, _ = self.words("sh", "-c", "kill -%s $$" % name)
            done = self.run_words(words, cwd=place, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
            self.assertEqual(done.returncode, -getattr(signal, "SIG" + name))
            cores = os.listdir(place)
            self.assertEqual(len(cores), 1, cores)
            with open(os.path.join(place, cores[0]), "rb") as core:
                self.assertIn(b"sh -c kill -" + name.encode(), core.read())

    def test_row_21_workers_in_sessions_of_their_own_and_their_restarts_are_of_the_job(self):
        launcher = textwrap.dedent("""
            import os, subprocess, sys
            for attempt in range(3):
                workers = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.2); exit(%d)" %
                                             (attempt < 2)], start_new_session=True,
                                            env=dict(os.environ, RANK=str(rank))) for rank in range(2)]
                if not any([worker.wait() for worker in workers]): break
            print(attempt)
            """)
        recording = self.recorded(PYTHON, "-c", launcher)
        lives = {}
        for event in self.events(recording, "process"):
            found = re.search(r" process=(\d+)(?: parent=(\d+))?", event)
            lives[found[1]] = found[2]
        first = next(life for life, parent in lives.items() if not parent)
        self.assertEqual([parent for parent in lives.values() if parent], [first] * 6)
        gone = {re.search(r" process=(\d+)", event)[1] for event in self.events(recording, "process_gone")}
        self.assertLessEqual({life for life in lives if life != first}, gone)

    def test_row_27_programs_that_take_no_library_or_variable_of_ours_make_no_noise(self):
        self.recorded(probe("quiet"))  # static
        own = self.path("own")
        shutil.copy("/usr/bin/id", own)
        os.chmod(own, stat.S_ISUID | 0o755)
        self.recorded(own)

    def test_row_30_interpreters_without_the_hook_run_the_same_and_the_report_says_so(self):
        other, free = self.path("pypy3"), self.path("python3.13t")
        shutil.copy(PYTHON, other)
        shutil.copy(PYTHON, free)
        for words, why in (([PYTHON, "-I"], "was started with -I: it loads no hook"),
                           ([PYTHON, "-uE"], "was started with -E: it loads no hook"),
                           ([PYTHON, "-X", "utf8", "-S"], "was started with -S: it loads no hook"),
                           ([other], "is PyPy: the hook is made for CPython"),
                           ([free], "is free-threaded: the hook is made for a Python with its lock")):
            with self.subTest(why):
                recording = self.recorded(*words, "-c", WAIT, "-I")
                self.assertIn(why, self.report(recording))
        self.assertNotIn("loads no hook", self.report(self.recorded(PYTHON, "-c", WAIT, "-I")))
        self.assertIn("another PYTHONPATH", self.report(self.recorded("sh", "-c", 'PYTHONPATH=. exec "$@"', "sh", PYTHON, "-c", WAIT)))
        both = self.report(self.recorded("sh", "-c", '"$@"; unset PYTHONPATH; exec "$1" "$3" "$4"', "sh", PYTHON, "-S", "-c", WAIT))
        for why in ("with -S", "another PYTHONPATH"):
            self.assertIn(why, both)

    def test_row_30_a_zipapp_has_the_hook(self):
        app = self.path("app.pyz")
        with zipfile.ZipFile(app, "w") as file:
            file.writestr("__main__.py", PUT)
        words, recording = self.words(PYTHON, app)
        self.assertEqual(self.run_words(words).returncode, 0)
        self.assertIn('name="from_inside"', self.dump(recording))

    def test_row_30_a_python_inside_another_program_has_the_hook(self):
        library = os.path.join(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
        words, recording = self.words(os.environ["STALLPROF_EMBED"], library, PUT)
        done = self.run_words(words)
        if done.returncode == 77:
            self.skipTest("needs a CPython that is a library")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn('name="from_inside"', self.dump(recording))

    def test_row_72_as_a_service_starts_it(self):
        """No terminal, no home, a session of its own, its output a socket, as systemd-run and journald have it."""
        ours, theirs = socket.socketpair()
        words, recording = self.words("sh", "-c", "echo out; exit 5")
        done = self.run_words(["env", "-i", "PATH=/usr/bin:/bin"] + words, stdin=subprocess.DEVNULL, stdout=theirs,
                              stderr=theirs, start_new_session=True, cwd="/")
        theirs.close()
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"out\n", ours.makefile("rb").read())
        ours.close()
        self.assertIn("exit_code=5", self.events(recording, "command_end")[0])
        if os.path.isdir("/run/systemd/system") and shutil.which("systemd-run"):
            words, recording = self.words("sh", "-c", "exit 5")
            done = self.run_words(["systemd-run", "--quiet", "--scope"] + words)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("exit_code=5", self.events(recording, "command_end")[0])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("nsenter"), "needs root to enter namespaces")
    def test_row_72_as_docker_exec_starts_it(self):
        """Into the namespaces of a container that runs, its input a pipe that stays open."""
        container = subprocess.Popen(["unshare", "-p", "-f", "-m", "--mount-proc", "sleep", "60"],
                                     stderr=subprocess.PIPE)
        self.addCleanup(container.stderr.close)
        self.addCleanup(container.wait)
        self.addCleanup(container.kill)
        inside = until(lambda: children(container.pid) or container.poll() is not None, "the container")
        if inside is True:
            self.skipTest("needs root to enter namespaces")
        until(lambda: "sleep" in content("/proc/%d/comm" % inside[0]), "its command")
        self.addCleanup(os.kill, inside[0], signal.SIGKILL)
        words, recording = self.words("sh", "-c", "read line; echo $line; exit 6")
        run = subprocess.Popen(["nsenter", "-t", str(inside[0]), "-p", "-m"] + words, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdin.write(b"in\n")
        run.stdin.flush()
        self.assertEqual((run.wait(PATIENCE), run.stdout.read()), (6, b"in\n"), run.stderr.read())
        for stream in (run.stdin, run.stdout, run.stderr):
            stream.close()
        self.assertIn("exit_code=6", self.events(recording, "command_end")[0])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file away")
    def test_row_78_children_of_another_user_or_without_the_environment_are_said(self):
        other = self.path("python3")
        shutil.copy(PYTHON, other)
        os.chown(other, NOBODY, NOBODY)
        os.chmod(other, stat.S_ISUID | 0o755)
        os.chmod(self.dir, 0o755)
        script = "import os; assert os.geteuid() == %d; " % NOBODY + WAIT
        self.assertIn("runs as user 65534: the hook cannot hand over", self.report(self.recorded(other, "-c", script)))
        # What sudo leaves of an environment.
        alone = ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/root", PYTHON, "-c", WAIT]
        self.assertIn("was started without the environment of the run", self.report(self.recorded(*alone)))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_row_79_a_process_that_may_not_be_read_is_recorded_as_far_as_it_may(self):
        os.chmod(self.dir, 0o777)
        drop = ordinary(self, NOBODY, STALLPROF, EVERYBODYS_PYTHON)
        words, recording = self.words(EVERYBODYS_PYTHON, "-c", "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " + WAIT
                                      + "; print('end')")
        done = self.run_words(words, preexec_fn=drop)
        self.assertEqual((done.returncode, done.stdout), (0, b"end\n"), done.stderr)
        self.assertTrue(self.events(recording, "slice"))
        self.report(recording)

    @unittest.skipUnless(content("/proc/sys/kernel/yama/ptrace_scope").strip() in ("1", "2", "3"),
                         "needs Yama's scope 1, 2 or 3")
    def test_what_an_ordinary_user_sees_under_yama(self):
        os.chmod(self.dir, 0o777)
        words, recording = self.words(EVERYBODYS_PYTHON, "-c", WAIT + "; print('end')")
        done = self.run_words(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + words)
        self.assertEqual((done.returncode, done.stdout), (0, b"end\n"), done.stderr)
        self.assertTrue(self.events(recording, "slice"))
        said = [e for e in self.events(recording, "source") if 'source="stack_memory"' in e]
        shown = self.run_words(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", STALLPROF, "doctor"])
        scope = content("/proc/sys/kernel/yama/ptrace_scope").strip()
        if scope == "1":  # the command names the recorder, and each Python in it, also a forked one
            self.assertIn("state=full", said[0])
            busy = ("import os, time\npid, end = os.fork(), time.monotonic() + 8\n"
                    "while time.monotonic() < end: pass\npid and os.wait()")
            words, recording = self.words("sh", "-c", '"$@"', "sh", EVERYBODYS_PYTHON, "-c", busy)
            done = self.run_words(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + words)
            self.assertEqual(done.returncode, 0, done.stderr)
            threads = {re.search(r"thread=(\d+)", e).group(1) for e in self.events(recording, "stack_slice")}
            self.assertGreaterEqual(len(threads), 2, self.dump(recording))
            return
        self.assertNotIn("state=full", said[0])
        more = b"a host booted with" if scope == "3" else b"sysctl kernel.yama.ptrace_scope=0"
        self.assertIn(more, shown.stdout)


if __name__ == "__main__":
    main()
