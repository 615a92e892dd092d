# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: memory, CPU, threads and shared memory that are short."""
import ctypes
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import time
import unittest

from faults import (NOBODY_ELSE, PATIENCE, STALLPROF, Case, children, content, main, needs_mount, needs_unshare,
                    ordinary, until)

PYTHON = os.path.realpath(sys.executable)
EVERYBODYS_PYTHON = "/usr/bin/python3"
GROUPS = "/sys/fs/cgroup"
# Of control groups v1 and v2: the file of a limit, and how it is written.
LIMITS = {"memory": ("memory.limit_in_bytes", "memory.max", "%d"),
          "cpu": ("cpu.cfs_quota_us", "cpu.max", "%d")}
MB = 1 << 20
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}[os.uname().machine]


def time_slice(pid):
    """Of a thread of the usual policy, in ns; 0 where the kernel knows none."""
    attributes = ctypes.create_string_buffer(48)  # struct sched_attr, version 0; sched_runtime is at 24
    if ctypes.CDLL(None).syscall(SCHED_GETATTR, pid, attributes, len(attributes), 0) != 0:
        raise OSError("sched_getattr(%d)" % pid)
    return struct.unpack_from("=Q", attributes, 24)[0]


class Limits(Case):
    def group(self, controller, limit):
        """A control group with that limit: the file that takes pids."""
        v1, v2, form = LIMITS[controller]
        for top, file in ((os.path.join(GROUPS, controller), v1), (GROUPS, v2)):
            place = os.path.join(top, "stallprof-faults-%d" % os.getpid())
            try:
                os.mkdir(place)
            except OSError:
                continue
            self.addCleanup(self.remove, place)
            try:
                with open(os.path.join(place, file), "w") as written:
                    written.write(form % limit)
                return os.path.join(place, "cgroup.procs")
            except OSError:
                pass
        self.skipTest("needs a control group of its own for " + controller)

    def remove(self, place):
        def empty():
            for pid in content(os.path.join(place, "cgroup.procs")).split():
                os.kill(int(pid), signal.SIGKILL)
            try:
                os.rmdir(place)
            except OSError:
                return False
            return True
        until(empty, "an empty control group")

    def inside(self, procs, words):
        return ["sh", "-c", 'echo $$ > "$0"; exec "$@"', procs] + words

    def report(self, recording, *options):
        shown = self.run_words([STALLPROF, "report", recording, *options])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return " ".join(shown.stdout.decode().split())

    def test_row_10_a_command_killed_for_memory_is_said_to_be(self):
        procs = self.group("memory", 96 * MB)
        words, recording = self.words(PYTHON, "-c", "kept = []\nwhile True: kept.append(b'x' * (1 << 20))")
        done = self.run_words(self.inside(procs, words))
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        said = self.report(recording)
        self.assertIn("ended by signal 9", said)
        self.assertIn("control group of the run had no memory left: the kernel killed 1 process", said)

    def test_row_41_recorder_and_report_fit_a_group_that_the_job_fills(self):
        procs = self.group("memory", 160 * MB)
        script = "kept = b'x' * (64 << 20)\nimport time\ntime.sleep(1.5)\nprint(len(kept))"
        recording = self.path("shared.stallprof")
        done = self.run_words(self.inside(procs, [STALLPROF, "run", "-o", recording, "--", PYTHON, "-c", script]))
        self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % (64 * MB)), done.stderr)
        self.assertIn(b"WHERE", done.stderr)  # the report came, in the same group
        self.assertNotIn("no memory left", self.report(recording))
        peaks = [int(n) for n in re.findall(r"peak_rss=(\d+)", self.dump(recording))]
        self.assertLess(max(peaks), 64 * MB)

    def test_row_43_under_a_quota_the_recorder_has_the_priority_of_the_command(self):
        procs = self.group("cpu", 50000)
        words, recording = self.words(PYTHON, "-c", "import time\nwhile time.process_time() < 0.7: pass\nprint('end')")
        front = subprocess.Popen(self.inside(procs, words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: front.poll() is None and front.kill())
        self.assertIn(b"recording to", front.stderr.readline())
        recorder, command = until(lambda: len(children(front.pid)) == 2 and children(front.pid), "both")
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, command), nice)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, recorder), nice)
        self.assertEqual(time_slice(command), time_slice(0))
        if time_slice(0):  # older kernels than 6.12 know none
            self.assertEqual(time_slice(recorder), 100_000)
        out, err = front.communicate(timeout=PATIENCE)
        self.assertEqual((front.returncode, out), (0, b"end\n"), err)
        self.assertIn("cpu_milli=500", self.events(recording, "cgroup")[-1])

    def test_row_67_a_recorder_killed_for_memory_leaves_the_command(self):
        procs = self.group("memory", 256 * 1024)
        # Until it is gone: how many children that takes depends on the host.
        script = "i=0; while [ $i -lt 40000 ] && kill -0 $recorder 2>/dev/null; do (:); i=$((i+1)); done; "
        words, recording = self.words("sh", "-c", "read recorder; " + script + "sleep 0.2; echo out; exit 4")
        front = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: front.poll() is None and front.kill())
        self.assertIn(b"recording to", front.stderr.readline())
        recorder = until(lambda: len(children(front.pid)) == 2 and children(front.pid), "both")[0]
        with open(procs, "w") as group:
            group.write(str(recorder))
        # What it needs from now on is the group's; pages that it has stay where they are.
        out, err = front.communicate(b"%d\n" % recorder, timeout=PATIENCE)
        self.assertEqual((front.returncode, out), (4, b"out\n"), err)
        self.assertIn(b"the recorder died", err)
        self.dump(recording)

    def test_row_19_five_thousand_threads_are_seen_and_the_end_comes(self):
        script = textwrap.dedent("""
            import threading, time
            threading.stack_size(65536)
            over = threading.Event()
            threads = [threading.Thread(target=over.wait) for _ in range(5000)]
            for thread in threads: thread.start()
            time.sleep(1)
            over.set()
            for thread in threads: thread.join()
            print("end")
            """)
        words, recording = self.words(PYTHON, "-c", script)
        done = self.run_words(words)
        self.assertEqual((done.returncode, done.stdout), (0, b"end\n"), done.stderr)
        self.assertNotIn(b"still written", done.stderr)  # the recorder ended in time
        seen = {re.search(r" thread=(\d+)", e)[1] for e in self.events(recording, "thread")}
        self.assertGreater(len(seen), 5000)
        self.assertIn("exit_code=0", self.events(recording, "command_end")[0])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_row_40_without_locked_memory_left_it_records_what_needs_none(self):
        os.chmod(self.dir, 0o777)
        become = ordinary(self, NOBODY_ELSE, STALLPROF, EVERYBODYS_PYTHON)

        def drop():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
            become()
        # Takes all that perf_event_mlock_kb gives this user, in rings of its own.
        hold = textwrap.dedent("""
            import ctypes, mmap, struct, sys
            libc = ctypes.CDLL(None, use_errno=True)
            libc.mmap.restype = ctypes.c_void_p
            attr = struct.pack("IIQ", 1, 112, 9) + struct.pack("QQQQ", 0, 0, 0, 1 << 5 | 1 << 6) + bytes(64)
            pages = 64
            while pages:
                buffer = ctypes.create_string_buffer(attr, 112)
                fd = libc.syscall(298, buffer, 0, -1, -1, 0)
                if fd < 0: sys.exit("no event: %d" % ctypes.get_errno())
                at = libc.mmap(None, ctypes.c_size_t((pages + 1) * 4096), 3, 1, fd, ctypes.c_long(0))
                if at in (None, ctypes.c_void_p(-1).value): pages //= 2
            print("held", flush=True)
            sys.stdin.read()
            """)
        holder = subprocess.Popen([EVERYBODYS_PYTHON, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  preexec_fn=drop)
        self.addCleanup(holder.communicate)
        if holder.stdout.readline() != b"held\n":
            self.skipTest("needs perf events for an ordinary user")
        words, recording = self.words("sh", "-c", "for i in 1 2 3 4; do sleep 0.1; done; exit 4")
        done = self.run_words(words, preexec_fn=drop)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertTrue(self.events(recording, "slice"))
        said = [e for e in self.events(recording, "source") if 'source="task_events"' in e]
        self.assertNotIn("state=full", said[0])
        self.assertIn("locked memory", said[0])
        self.assertNotIn("paranoid", said[0])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_row_40_what_the_job_may_lock_in_memory_is_as_without_us(self):
        os.chmod(self.dir, 0o777)
        become = ordinary(self, NOBODY_ELSE, STALLPROF, EVERYBODYS_PYTHON)

        def drop():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (MB, MB))
            become()
        # A buffer of an io_uring counts beside all that this user has locked.
        lock = textwrap.dedent("""
            import ctypes, mmap, os
            libc = ctypes.CDLL(None, use_errno=True)
            ring = libc.syscall(425, 8, ctypes.create_string_buffer(120))
            buffer = mmap.mmap(-1, 460 << 10)
            where = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.c_char.from_buffer(buffer)), len(buffer))
            print(ring < 0, libc.syscall(427, ring, 0, ctypes.byref(where), 1), ctypes.get_errno())
            """)
        plain = self.run_words([EVERYBODYS_PYTHON, "-c", lock], preexec_fn=drop)
        time.sleep(1)   # the kernel takes a ring down after its process, and its buffer counts until then
        words, recording = self.words(EVERYBODYS_PYTHON, "-c", lock)
        done = self.run_words(words, preexec_fn=drop)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        self.assertTrue(self.events(recording, "command_end"))

    @needs_unshare
    def test_row_23_a_worker_killed_over_a_full_dev_shm_is_as_without_us(self):
        worker = textwrap.dedent("""
            import mmap, os, time
            before = os.statvfs("/dev/shm").f_bfree  # what a recorder of ours would have taken is missing
            file = os.open("/dev/shm/batch", os.O_RDWR | os.O_CREAT)
            os.ftruncate(file, 4 << 20)
            batch = mmap.mmap(file, 4 << 20)
            pid = os.fork()
            if pid == 0:
                for at in range(0, 4 << 20, 4096): batch[at] = 1
            print(before, os.WTERMSIG(os.waitpid(pid, 0)[1]))
            time.sleep(0.3)
            """)
        script = 'mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 77; exec "$@"'
        within = ["unshare", "-m", "sh", "-c", script, "sh"]
        plain = self.run_words(within + [PYTHON, "-c", worker])
        if plain.returncode == 77 or b"unshare:" in plain.stderr:
            self.skipTest("needs root to unshare")
        words, recording = self.words(PYTHON, "-c", worker)
        done = self.run_words(within + words)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        self.assertEqual(int(done.stdout.split()[1]), signal.SIGBUS)
        self.assertIn("/dev/shm was full", self.report(recording))
        shm = json.loads(self.report(recording, "--format", "json"))["resources"]["shm_bytes"]
        self.assertIn(shm, (None, MB))

    @needs_unshare
    def test_row_23_the_dev_shm_that_is_watched_is_the_jobs(self):
        words, recording = self.words("unshare", "-m", "sh", "-c",
                                      "mount -t tmpfs -o size=8m tmpfs /dev/shm || exit 77; sleep 2.5")
        done = self.run_words(words)
        if done.returncode == 77 or b"unshare:" in done.stderr:
            self.skipTest("needs root to unshare")
        hosts = [line for line in self.events(recording, "host") if " shm_total=" in line]
        self.assertIn(" shm_total=%d" % (8 << 20), hosts[-1])

    @needs_mount
    def test_row_63_a_disk_nearly_full_is_left_to_the_job(self):
        disk = self.mount_memory("disk", "size=4m")
        with open(os.path.join(disk, "theirs"), "wb") as filler:
            filler.write(b"x" * (4 * MB * 96 // 100))
        run = [STALLPROF, "run", "--report", "none", "-o", os.path.join(disk, "r.stallprof"), "--", "sh", "-c",
               "echo out; exit 4"]
        done = self.run_words(run)
        self.assertEqual((done.returncode, done.stdout), (4, b"out\n"), done.stderr)
        self.assertIn(b"less than 5 % of the file system, or 2 GiB, is free", done.stderr)
        self.assertIn(b"the command runs unrecorded", done.stderr)
        self.assertEqual(os.listdir(disk), ["theirs"])

    def test_row_63_a_recording_at_its_largest_says_how_the_command_ended(self):
        long = "i=0; while [ $i -lt 360 ]; do sh -c 'sleep 1; :' $i$0 & i=$((i+1)); done; wait; exit 4"
        words, recording = self.words("sh", "-c", long, "x" * 4000, options=("--max-size", "1M"))
        done = self.run_words(words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"its end is not recorded: the recording has reached --max-size", done.stderr)
        sizes = {n: os.stat(os.path.join(recording, n)).st_size for n in os.listdir(recording)}
        self.assertLessEqual(sum(size for name, size in sizes.items() if name != "log"), 1000000, sizes)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])
        self.assertIn("The recording has gaps", self.report(recording))
        for wrong in ("10", "1T", "-1M", "x"):
            self.assertEqual(self.run_words([STALLPROF, "run", "--max-size", wrong, "true"]).returncode, 125)


if __name__ == "__main__":
    main()
