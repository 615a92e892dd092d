# SPDX-License-Identifier: MIT
"""The command is given what it would be given without us: a probe's facts, with and without."""
import ctypes
import fcntl
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import unittest

from harness import NOBODY, STALLPROF, Case, main, ordinary, probe

# Everything that may differ, and nothing else.
DECLARED = re.compile(r"env (PYTHONPATH|STALLPROF_(EVENTS|RECORDING|ACTIVITY)|"
                      r"(CUDA|NVTX)_INJECTION64_PATH)=")
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Transparency(Case):
    def facts(self, wrap, **how):
        facts = self.path("facts")
        command = [probe("probe"), facts, "a b", "--x", "--", "-o"]
        words, _ = self.words(*command) if wrap else (command, None)
        prelude = how.pop("prelude", None)
        if prelude:
            words = ["sh", "-c", prelude + '; exec "$@"', "sh", *words]
        done = self.run_words(words, **how)
        with open(facts) as text:
            return done.returncode, text.read().splitlines(), done

    def same(self, **how):
        code, plain, done = self.facts(False, **how)
        self.assertEqual(code, 0, done.stderr)
        code, recorded, done = self.facts(True, **how)
        self.assertEqual(code, 0, done.stderr)
        self.assertEqual(done.stdout, b"" if done.stdout is not None else None)
        strip = lambda lines: [l for l in lines if not DECLARED.match(l) and
                               not re.match(r"sid ", l)]
        self.assertEqual(strip(plain), strip(recorded))
        for line in set(recorded) - set(plain):
            self.assertTrue(DECLARED.match(line) or line.startswith("sid "), line)
        return recorded

    def test_nothing_but_the_declared_variables_differs(self):
        recorded = self.same(input=b"12345")
        self.assertIn("stdin 5", recorded)
        self.assertTrue(any(l.startswith("env STALLPROF_EVENTS=/proc/") for l in recorded))

    def test_a_job_that_adds_to_pythonpath_finds_its_modules_where_it_would(self):
        work = self.path("work")
        os.makedirs(os.path.join(work, "sub"))
        show = "import sys; sys.stdout.write(repr(sys.path))"
        with open(os.path.join(work, "sub", "show.py"), "w") as script:
            script.write(show)
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for own in None, "", "/own", "/own:":
            environment = plain if own is None else dict(plain, PYTHONPATH=own)
            for adds in "$PYTHONPATH:/foo", "/foo:$PYTHONPATH", "/foo:$PYTHONPATH:/bar", "$PYTHONPATH:", "$PYTHONPATH":
                job = ["sh", "-c", 'export PYTHONPATH=%s; exec "$0" sub/show.py' % adds, "/usr/bin/python3"]
                words, _ = self.words(*job)
                bare, recorded = (self.run_words(these, cwd=work, env=environment, stdout=subprocess.PIPE).stdout
                                  for these in (job, words))
                self.assertEqual(bare, recorded, (own, adds))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file capabilities")
    def test_what_the_loader_takes_from_a_program_with_capabilities_is_kept(self):
        os.chmod(self.dir, 0o777)
        copy = shutil.copy(STALLPROF, self.path("stallprof"))
        try:
            os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 1, 0, 0, 0))   # CAP_CHOWN, effective
        except OSError:
            self.skipTest("needs to give a file capabilities")
        given = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/nowhere", "TMPDIR": "/tmp", "LAST": "a=b"}
        shown = [self.run_words(words, env=given, preexec_fn=ordinary(self, NOBODY, copy)).stdout.splitlines()
                 for words in (["/usr/bin/env"], [copy, *self.words("/usr/bin/env")[0][1:]])]
        ours = [line for line in shown[1] if not DECLARED.match("env " + line.decode())]
        self.assertEqual(shown[0], ours)
        self.assertIn(b"LD_LIBRARY_PATH=/nowhere", ours)

    def test_shells_limits_mask_umask_and_nice_are_kept(self):
        self.same(prelude="umask 027; ulimit -n 64; ulimit -f 4096; ulimit -c 0; nice -n 3 true; "
                          "renice -n 3 $$ >/dev/null; cd /", stdin=subprocess.DEVNULL)

    def test_closed_standard_descriptors_stay_closed(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                recorded = self.same(prelude="exec " + closed)
                for number, sign in ((0, "<&-"), (1, " >&-"), (2, "2>&-")):
                    if sign in " " + closed:
                        self.assertFalse([l for l in recorded if l.startswith("fd %d " % number)])

    def test_further_open_descriptors_are_inherited(self):
        recorded = self.same(prelude="exec 7</etc/passwd 9>/dev/null", stdin=subprocess.DEVNULL)
        self.assertTrue(any(l.startswith("fd 7 /etc/passwd") for l in recorded))

    def test_nohup_and_ignored_signals_stay_ignored(self):
        def ignore():
            for number in (1, 2, 10, 17):
                signal.signal(number, signal.SIG_IGN)
        recorded = self.same(preexec_fn=ignore, stdin=subprocess.DEVNULL)
        for number in (1, 2, 10, 17):
            self.assertIn("action %d ignored" % number, recorded)

    def test_blocked_signals_stay_blocked(self):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        self.same(preexec_fn=block, stdin=subprocess.DEVNULL)

    def test_a_running_timer_is_the_commands(self):
        def arm():
            signal.setitimer(signal.ITIMER_REAL, 50, 3)
        recorded = self.same(preexec_fn=arm, stdin=subprocess.DEVNULL)
        self.assertIn("timer 0 1 every 3", recorded)

    def test_the_parents_death_signal_is_kept(self):
        def arm():
            LIBC.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))
        recorded = self.same(preexec_fn=arm, stdin=subprocess.DEVNULL)
        self.assertTrue(any(" pdeathsig %d " % signal.SIGTERM in l for l in recorded), recorded)

    def test_orphans_still_come_to_the_command(self):
        for wrap in (False, True):
            script = "import ctypes; kept = ctypes.c_int(); " \
                "ctypes.CDLL(None).prctl(37, ctypes.byref(kept)); print(kept.value)"  # PR_GET_CHILD_SUBREAPER
            words = [sys.executable, "-c", script]
            words = self.words(*words)[0] if wrap else words
            done = self.run_words(words, preexec_fn=lambda: LIBC.prctl(36, ctypes.c_ulong(1)))
            self.assertEqual(done.stdout, b"1\n", done.stderr)

    def test_a_record_lock_of_the_callers_is_held_to_the_end(self):
        words, _ = self.words("sh", "-c", "echo started; exec sleep 30")
        path = self.path("lock")
        script = "import fcntl, os, sys; f = open(sys.argv[1], 'w'); os.set_inheritable(f.fileno(), True); " \
            "fcntl.lockf(f, fcntl.LOCK_EX); os.execv(sys.argv[2], sys.argv[2:])"
        run = subprocess.Popen([sys.executable, "-c", script, path, *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=self.dir)
        self.assertEqual(run.stdout.readline(), b"started\n")
        run.stderr.readline()   # "recording to": what is not needed is closed by now
        with open(path, "w") as again, self.assertRaises(OSError):
            fcntl.lockf(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        run.terminate()
        run.communicate(timeout=60)

    def test_a_working_directory_that_was_removed(self):
        gone = self.path("gone")
        os.mkdir(gone)
        done = self.run_words(["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", STALLPROF, "run", "--report", "none",
                               "--", "/bin/echo", "ran"], cwd=gone)
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)
        self.assertIn(b"the command runs unrecorded", done.stderr)
        os.mkdir(gone)
        reader, writer = os.pipe()   # nobody reads that line
        os.close(reader)
        done = self.run_words(done.args, cwd=gone, stderr=writer)
        os.close(writer)
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"))

    def test_group_session_and_terminal_are_the_callers(self):
        def on_terminal(words):
            pid, terminal = pty.fork()
            if pid == 0:
                os.execvp(words[0], words)
            out = b""
            try:
                while True:
                    out += os.read(terminal, 4096)
            except OSError:
                pass
            os.close(terminal)
            return os.waitpid(pid, 0)[1], pid, out
        seen = []
        for wrap in (False, True):
            facts = self.path("facts%d" % wrap)
            command = [probe("probe"), facts]
            words, _ = self.words(*command) if wrap else (command, None)
            status, pid, out = on_terminal(words)
            self.assertEqual(status, 0, out)
            with open(facts) as text:
                lines = text.read().splitlines()
            self.assertIn("sid %d group-is-mine %d group %d" % (pid, not wrap, pid), lines)
            self.assertIn("tty 1 foreground 1", lines)
            seen.append([l for l in lines if not DECLARED.match(l) and not l.startswith("sid") and
                         not l.startswith("argv") and "/dev/pts" not in l])
        self.assertEqual(*seen)

    def test_output_of_the_command_is_byte_for_byte_its_own(self):
        script = "printf 'a\\nb'; printf err >&2; printf c; head -c 100000 /dev/zero"
        plain = self.run_words(["sh", "-c", script])
        words, _ = self.words("sh", "-c", script)
        recorded = self.run_words(words)
        self.assertEqual(plain.stdout, recorded.stdout)
        ours = [l for l in recorded.stderr.decode().splitlines() if "stallprof:" in l]
        self.assertEqual(len(ours), 2, recorded.stderr)
        self.assertEqual(re.sub(r"stallprof: [^\n]*\n", "", recorded.stderr.decode()), "err")

    def test_a_pipe_that_the_command_closes_is_closed(self):
        words, _ = self.words("sh", "-c", "exec >&- <&-; echo x > started; sleep 30")
        run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.PIPE, cwd=self.dir)
        self.addCleanup(run.stderr.close if run.stderr else lambda: None)
        self.assertEqual(run.stdout.read(), b"")  # end of file long before the command's end
        self.assertIsNone(run.poll())
        run.terminate()
        run.wait(60)
        run.stdout.close()
        run.stdin.close()

    def test_environment_near_its_limit_starts_without_the_injection(self):
        stack = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, stack[1]))  # a quarter of it: 2 MiB
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, stack)
        page = 131072 - 64  # one word may have 128 KiB
        env = {"PATH": os.environ["PATH"], "MIDDLE": "x" * (page // 2)}
        for i in range(15):
            env["BIG%02d" % i] = "x" * page

        def starts(extra):
            env["LAST"] = "x" * extra
            try:
                return subprocess.run([probe("probe"), os.devnull], env=env).returncode == 0
            except OSError:
                return False
        low, high = 0, page
        self.assertTrue(starts(low))
        self.assertFalse(starts(high))
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if starts(middle) else (low, middle)
        # Our own words must fit as well: few and short ones, fewer bytes than the injection.
        command = [probe("probe"), os.devnull]
        words = ["s", "run", "--report=none"]
        room = sum(len(w) + 1 + 8 for w in words) + max(0, len(STALLPROF) - len(command[0])) + 8
        env["LAST"] = "x" * (low - room)
        done = subprocess.run(words + command, executable=STALLPROF, env=env, cwd=self.dir,
                              stderr=subprocess.PIPE, timeout=60)
        recording = os.path.join(self.dir, [n for n in os.listdir(self.dir)
                                            if n.endswith(".stallprof")][0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("E2BIG", self.dump(recording))


if __name__ == "__main__":
    main()
