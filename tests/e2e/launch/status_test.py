# SPDX-License-Identifier: MIT
"""Exit statuses: the command's own, `env`'s where it cannot start, 125 for our own failures."""
import os
import resource
import signal
import subprocess

from harness import STALLPROF, Case, main

# Signals whose default action ends a process.
FATAL = [n for n in range(1, 65) if n not in (17, 18, 19, 20, 21, 22, 23, 28, 32, 33)]


class Status(Case):
    def recorded(self, *command, **how):
        words, recording = self.words(*command)
        return self.run_words(words, **how), recording

    def test_every_exit_code_is_the_commands(self):
        # One run after another: 256 of them within the suite's time, each with a recorder.
        for code in range(256):
            done, _ = self.recorded("sh", "-c", "exit %d" % code)
            self.assertEqual(done.returncode, code, done.stderr)

    def test_every_fatal_signal_is_the_commands(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in FATAL:
            done, _ = self.recorded("sh", "-c", "kill -%d $$" % number)
            self.assertEqual(done.returncode, -number, done.stderr)

    def test_an_end_by_signal_is_recorded(self):
        done, recording = self.recorded("sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, -9)
        self.assertIn("signal=9", self.events(recording, "command_end")[0])

    def test_exec_failures_are_those_of_env(self):
        def make(name, content, mode=0o755):
            path = self.path(name)
            with open(path, "wb") as out:
                out.write(content)
            os.chmod(path, mode)
            return path
        loop = self.path("loop")
        os.symlink(loop, loop)
        cases = {
            "not found": "nosuch-command", "not found by path": "./nosuch",
            "not executable": make("plain", b"x", 0o644), "a directory": self.dir,
            "bad interpreter": make("badsh", b"#!/no/such/interpreter\n"),
            "no shebang": make("noshebang", b"exit 7\n"), "empty file": make("empty", b""),
            "broken binary": make("elf", b"\x7fELF\x02\x01\x01" + b"\0" * 60),
            "a loop of links": loop, "below a file": "/etc/passwd/x", "no name": "",
            "too long": "x" * 300,
        }
        for name, command in cases.items():
            with self.subTest(name):
                plain = self.run_words(["env", command])
                done, recording = self.recorded(command)
                self.assertEqual(done.returncode, plain.returncode, done.stderr)
                if plain.returncode in (126, 127) and plain.stderr.startswith(b"env:"):
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                    self.assertFalse(os.path.exists(recording))
                self.assertEqual(b"interpreter" in done.stderr.replace(command.encode(), b""), name == "bad interpreter")

    def line(self, done, status, *parts):
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for part in (b"stallprof: ",) + parts:
            self.assertIn(part, done.stderr)

    def test_bad_words_are_one_line_and_125(self):
        run = [STALLPROF, "run"]
        for words in (["--nosuch", "true"], ["--nosuch", "--", "true"], [], ["--"], ["-o"],
                      ["--hz", "many", "true"], ["--hz", "0", "true"], ["--budget", "0.09", "true"],
                      ["--budget", "25.1", "true"], ["--budget", "nan", "true"],
                      ["--budget", "1%", "true"], ["--report", "pdf", "true"],
                      ["--report", "json=", "true"], ["--price", "-1", "true"],
                      ["--threads", "4097", "true"], ["--name", "/", "true"], ["--name", "%q{NO_SUCH}", "true"]):
            with self.subTest(words):
                self.line(self.run_words(run + words), 125)
        self.line(self.run_words(run + ["--drain", "4", "--", "true"]), 127, b"as in --drain=4")
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_place_that_cannot_hold_the_recording_is_one_line_and_125(self):
        marker = self.path("started")
        os.mkdir(self.path("there"))
        for name in ("there", "missing/x", "/proc/x"):
            with self.subTest(name):
                done = self.run_words([STALLPROF, "run", "-o", name, "touch", marker])
                self.line(done, 125, name.split("/x")[0].encode())
        done = self.run_words([STALLPROF, "run", "--report", "json=/no/such/x.json", "-o", "ok",
                               "touch", marker])
        self.line(done, 125, b"/no/such/x.json")
        self.assertEqual(sorted(os.listdir(self.dir)), ["there"])

    def test_options_end_at_the_first_word_that_is_none(self):
        done = self.run_words([STALLPROF, "run", "--report=none", "-o", "a.stallprof", "echo", "-o",
                               "--hz", "--", "x"])
        self.assertEqual((done.returncode, done.stdout), (0, b"-o --hz -- x\n"))
        done = self.run_words([STALLPROF, "run", "--report", "none", "-ob.stallprof", "--", "echo",
                               "--"])
        self.assertEqual((done.returncode, done.stdout), (0, b"--\n"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["a.stallprof", "b.stallprof"])

    def test_the_default_name_says_what_ran_when_and_as_which_rank(self):
        with open(self.path("fit.py"), "w") as script:
            script.write("pass\n")
        env = dict(os.environ, RANK="3")
        done = self.run_words([STALLPROF, "run", "--report", "none", "python3", "fit.py"], env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [n for n in os.listdir(self.dir) if n.endswith(".stallprof")]
        self.assertRegex(names[0], r"^fit\.\d{8}-\d{6}\.p\d+\.r3\.stallprof$")
        mode = os.stat(self.path(names[0])).st_mode & 0o777
        self.assertEqual(mode, 0o700)

    def test_disabled_or_inside_another_run_the_command_runs_plainly(self):
        done = self.run_words([STALLPROF, "run", "--nosuch", "true"],
                              env=dict(os.environ, STALLPROF_DISABLE="1"))
        self.assertEqual(done.returncode, 125)  # a wrong word stays wrong
        done = self.run_words([STALLPROF, "run", "sh", "-c", "exit 5"],
                              env=dict(os.environ, STALLPROF_DISABLE="1"))
        self.assertEqual((done.returncode, done.stderr, os.listdir(self.dir)), (5, b"", []))
        words, recording = self.words(STALLPROF, "run", "-o", "inner", "sh", "-c", "exit 6")
        done = self.run_words(words)
        self.assertEqual(done.returncode, 6)
        self.assertIn(b"inside another", done.stderr)
        self.assertEqual(os.listdir(self.dir), [os.path.basename(recording)])

    def test_secrets_never_reach_the_recording(self):
        env = dict(os.environ, CUDA_VISIBLE_DEVICES="0", HF_TOKEN="hf_abcdefghijklmnopqrstuvwxyz0123",
                   MY_PLAIN="innocent-canary")
        words, recording = self.words("sh", "-c", "sleep 0.3", "--api-key", "canary-one",
                                      "--password=canary-two")
        self.assertEqual(self.run_words(words, env=env).returncode, 0)
        found = subprocess.run(["grep", "-raE", "canary|hf_abc", recording], stdout=subprocess.PIPE)
        self.assertEqual(found.stdout, b"")

    def test_a_pipeline_and_what_outlives_it(self):
        done, recording = self.recorded("sh", "-c", "(setsid sleep 3 >/dev/null 2>&1 &) ; "
                                        "sleep 0.2; echo a | cat | wc -c")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"2"))
        self.assertIn("outlived=1", self.events(recording, "command_end")[0])
        self.assertIn(b"still running, unrecorded now: 1 process\n", done.stderr)


if __name__ == "__main__":
    main()
