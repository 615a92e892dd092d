# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: what the job is and does. It goes on as without us."""
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time

from faults import STALLPROF, Case, children, content, main, needs_unshare, probe, until

PYTHON = os.path.realpath(sys.executable)
# Reports from inside, as an adapter does.
PUTS = textwrap.dedent("""
    import time
    from stallprof_hook import events
    if events.ready():
        for i in range(1000):
            events.put(events.FRAMEWORK_SEEN, events.now(), "put", "v")
            time.sleep(0.001)
    print("end")
    """)


class Job(Case):
    def alike(self, words, how=lambda words: words, **more):
        """A command's status and output are the same recorded; what it and we wrote to standard error."""
        plain = self.run_words(how(list(words)), **more)
        recorded, _ = self.words(*words)
        done = self.run_words(how(recorded), **more)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        ours = b"".join(line for line in done.stderr.splitlines(True) if not line.startswith(b"stallprof: "))
        return plain.stderr, ours

    def start(self, *words, **how):
        words, recording = self.words(*words)
        front = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, **how)
        self.addCleanup(lambda: front.poll() is None and front.kill())
        self.assertIn(b"recording to", front.stderr.readline())
        return front, recording

    @needs_unshare
    def test_row_04_sigterm_to_process_1_of_a_container_comes_once(self):
        log = self.path("log")
        words, _ = self.words(probe("counter"), log)
        outer = subprocess.Popen(["unshare", "-p", "-f", "--mount-proc"] + words, stderr=subprocess.PIPE)
        self.addCleanup(lambda: outer.poll() is None and outer.kill())
        if b"unshare:" in outer.stderr.readline():
            self.skipTest("needs root to unshare")
        until(lambda: "ready" in content(log), "the command")
        front = children(outer.pid)[0]
        os.kill(front, signal.SIGTERM)
        until(lambda: "15 0" in content(log), "the signal")
        time.sleep(0.2)  # for one too many
        os.kill(front, signal.SIGUSR2)
        self.assertEqual(outer.wait(60), 0)
        self.assertEqual(content(log), "ready\n15 0\n12 0\n")

    def test_row_07_a_command_that_takes_its_time_after_sigterm_is_waited_for(self):
        """Longer than any limit that we have."""
        front, recording = self.start("sh", "-c", "trap 'sleep 11; echo saved; exit 3' TERM; echo ready; "
                                      "while :; do sleep 0.1; done")
        self.assertEqual(front.stdout.readline(), b"ready\n")
        front.send_signal(signal.SIGTERM)
        out, err = front.communicate(timeout=60)
        self.assertEqual((front.returncode, out), (3, b"saved\n"), err)
        self.assertIn("exit_code=3", self.events(recording, "command_end")[0])

    def test_row_09_a_job_that_reports_from_inside_outlives_the_recorder(self):
        for after in (0, 0.1, 0.4):
            front, _ = self.start(PYTHON, "-c", PUTS)
            time.sleep(after)
            os.kill(children(front.pid)[0], signal.SIGKILL)  # forked before the command
            out, err = front.communicate(timeout=60)
            self.assertEqual((front.returncode, out), (0, b"end\n"), err)
            self.assertIn(b"the recorder died", err)

    def test_row_12_what_cannot_be_executed_is_as_with_env(self):
        busy, foreign = self.path("busy"), self.path("foreign")
        shutil.copy("/bin/true", busy)
        with open("/bin/true", "rb") as real, open(foreign, "wb") as other:
            header = bytearray(real.read(4096))
            header[18:20] = b"\x28\x00"  # ARM: what has no loader here is tried as a script
            other.write(header)
        os.chmod(foreign, 0o755)
        with open(busy, "r+b"):
            for command in (busy, foreign):
                with self.subTest(os.path.basename(command)):
                    words, recording = self.words(command)
                    done, plain = self.run_words(words), self.run_words(["env", command])
                    self.assertEqual(done.returncode, plain.returncode, done.stderr)
                    if plain.returncode in (126, 127):
                        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                        self.assertFalse(os.path.exists(recording))

    def test_row_15_a_reader_that_leaves_and_the_background_change_nothing(self):
        script = '"$@" 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
        plain = ["bash", "-c", script, "bash"]
        words, _ = self.words("yes")
        done, alone = self.run_words(plain + words), self.run_words(plain + ["yes"])
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout))
        words, _ = self.words("sh", "-c", "echo out; exit 5")
        script = 'exec 2>&1; "$@" & wait $!; echo $?'
        done = self.run_words(["bash", "-c", script, "bash"] + words)
        self.assertIn(b"out\n", done.stdout)
        self.assertTrue(done.stdout.endswith(b"\n5\n"), done.stdout)
        closed = self.run_words(["bash", "-c", '"$@" 2>&1 >&- <&- | true; exit "${PIPESTATUS[0]}"', "bash"]
                                + self.words("sh", "-c", "sleep 0.2; exit 6")[0])
        self.assertEqual(closed.returncode, 6, closed.stdout)

    def test_row_16_inside_other_wrappers_three_deep(self):
        wrappers = [["timeout", "60"], ["nice"], ["setsid", "-w"]]
        if shutil.which("strace"):
            wrappers.append(["strace", "-f", "-o", self.path("trace")])
        if shutil.which("gdb"):
            wrappers.append(["gdb", "-q", "-batch", "-ex", "set follow-fork-mode parent", "-ex",
                             "handle all nostop noprint pass", "-ex", "run", "-ex",
                             "python gdb.execute('quit %d' % int(gdb.parse_and_eval('$_exitcode')))", "--args"])
        for wrapper in wrappers:
            with self.subTest(wrapper[0]):
                words, recording = self.words("timeout", "60", "nice", "sh", "-c", "exit 5")
                done = self.run_words(wrapper + words)
                self.assertEqual(done.returncode, 5, (done.stdout, done.stderr))
                self.assertIn("exit_code=5", self.events(recording, "command_end")[0])

    @needs_unshare
    def test_row_20_a_pid_used_again_is_another_process(self):
        # Threads that start meanwhile, the recorder's too, may take the number: those are counted out.
        script = ("i=0; n=0; while [ $i -lt 40 ]; do echo 299 > /proc/sys/kernel/ns_last_pid; sleep 0.02 & "
                  "[ $! = 300 ] && n=$((n+1)); wait; i=$((i+1)); done; echo $n; exit 4")
        done, recording = self.run_as_process_1("sh", "-c", script)
        self.assertEqual(done.returncode, 4, done.stderr)
        lives = [re.search(r" process=(\d+) .*pid=300\b", e) for e in self.events(recording, "process")]
        again = int(done.stdout)
        self.assertGreater(again, 20)
        self.assertEqual(len({life[1] for life in lives if life}), again)

    def test_row_24_children_by_vfork_posix_spawn_and_clone_parent(self):
        script = textwrap.dedent("""
            import ctypes, os, subprocess, sys
            for i in range(20):
                assert subprocess.run(["true"], close_fds=False).returncode == 0  # vfork
                pid = os.posix_spawn("/bin/true", ["true"], os.environ)
                assert os.waitpid(pid, 0)[1] == 0
                CLONE_PARENT, SIGCHLD, SYS_CLONE = 0x8000, 17, 56
                if ctypes.CDLL(None).syscall(SYS_CLONE, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0:
                    os._exit(0)
            print("end")
            """)
        _, ours = self.alike([PYTHON, "-c", script])
        self.assertEqual(ours, b"")

    @needs_unshare
    def test_row_25_in_a_chroot_without_our_files_nothing_is_printed(self):
        root = self.path("root")
        script = textwrap.dedent("""
            for d in usr bin lib lib64 proc; do
              mkdir -p "$0/$d"; test ! -e /$d || mount --bind /$d "$0/$d" || exit 77
            done
            exec chroot "$0" /usr/bin/python3 -c 'print("here")'
            """)
        if not os.path.exists("/usr/bin/python3"):
            self.skipTest("needs a Python below /usr")
        plain, ours = self.alike(["unshare", "-m", "sh", "-c", script, root])
        self.assertEqual(ours, plain)

    def test_row_26_our_files_moved_away_during_the_run(self):
        prefix, away = self.path("prefix"), self.path("away")
        libraries = os.path.join(os.path.dirname(os.path.dirname(STALLPROF)), "lib", "stallprof", "hook")
        os.makedirs(os.path.join(prefix, "bin"))
        shutil.copy(STALLPROF, os.path.join(prefix, "bin"))
        shutil.copytree(libraries, os.path.join(prefix, "lib", "stallprof", "hook"))
        os.chmod(prefix, 0o755)
        script = textwrap.dedent("""
            import os, subprocess, sys
            os.rename(sys.argv[1], sys.argv[2])
            child = subprocess.run([sys.executable, "-c", "print('child')"], stderr=subprocess.PIPE)
            print(child.returncode, child.stderr)
            """)
        recording = self.path("moved.stallprof")
        done = self.run_words([os.path.join(prefix, "bin", "stallprof"), "run", "-o", recording, "--",
                               PYTHON, "-c", script, prefix, away])
        self.assertEqual((done.returncode, done.stdout), (0, b"child\n0 b''\n"), done.stderr)
        self.assertIn("exit_code=0", self.events(recording, "command_end")[0])

    def test_row_38_a_job_without_descriptors_left_loses_the_hook_alone(self):
        script = textwrap.dedent("""
            import os, resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            from stallprof_hook import events
            kept = []
            try:
                while True: kept.append(os.open("/dev/null", os.O_RDONLY))
            except OSError as error:
                print(error.errno)
            events.ready(), events.put(events.FRAMEWORK_SEEN, events.now(), "x", "v")
            print("end")
            """)
        words, recording = self.words(PYTHON, "-c", script)
        done = self.run_words(words)
        self.assertEqual((done.returncode, done.stdout), (0, b"24\nend\n"), done.stderr)
        self.assertIn("exit_code=0", self.events(recording, "command_end")[0])

    @needs_unshare
    def test_row_47_where_proc_hides_others_an_ordinary_user_runs_the_job(self):
        os.chmod(self.dir, 0o777)
        words, recording = self.words("sh", "-c", "sleep 0.3; exit 4")
        script = ('mount -t proc -o hidepid=2 proc /proc || exit 77; test -x "$1" || exit 77; '
                  'exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \'test -x "$1" || exit 77; '
                  'exec "$@"\' sh "$@"')
        done = self.run_words(["unshare", "-m", "-p", "-f", "sh", "-c", script, "sh"] + words)
        if done.returncode == 77 or b"unshare:" in done.stderr:
            self.skipTest("needs root to mount, and a build tree open to other users")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])

    def test_row_71_a_terminal_that_hangs_up_says_so_once(self):
        log = self.path("log")
        words, _ = self.words(probe("counter"), log)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(words[0], words)
        until(lambda: "ready" in content(log), "the command")
        os.close(terminal)
        until(lambda: "1 0" in content(log) and "18 0" in content(log), "the signals")  # as to any session's leader
        time.sleep(0.2)  # for one too many
        os.kill(pid, signal.SIGUSR2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(content(log), "ready\n1 0\n18 0\n12 0\n")

    def test_row_75_a_mapped_library_swapped_for_a_fifo_holds_up_nobody(self):
        library, fifo = self.path("libpython3.11.so.1.0"), self.path("fifo")
        shutil.copy(STALLPROF, library)
        os.mkfifo(fifo)
        words, recording = self.words(os.environ["STALLPROF_SWAP"], library, fifo)
        done = self.run_words(words)
        if done.returncode == 77:
            self.skipTest("needs root to unshare")
        self.assertEqual((done.returncode, done.stdout), (4, b"out\n"), done.stderr)
        self.assertNotIn(b"still written", done.stderr)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])

    def test_row_80_a_fault_of_the_job_reads_as_without_us(self):
        plain, ours = self.alike([PYTHON, "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)"],
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        self.assertIn(b"Segmentation fault", ours)
        self.assertEqual(re.sub(rb"0x[0-9a-f]+", b"0x", ours), re.sub(rb"0x[0-9a-f]+", b"0x", plain))


if __name__ == "__main__":
    main()
