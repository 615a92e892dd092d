# SPDX-License-Identifier: MIT
"""Limited and shared hosts: which CPUs count, limits that change, and other recorders of the job."""
import os
import re
import subprocess

from harness import PATIENCE, STALLPROF, Case, main

CPUS = sorted(os.sched_getaffinity(0))
WORKING = ["sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.02; done"]


def values(lines, field):
    return [int(m[1]) for m in (re.search(r" %s=(-?\d+)" % field, line) for line in lines) if m]


def last(lines, field):
    return (values(lines, field) or [None])[-1]


class Shared(Case):
    def test_the_cpus_of_the_jobs_affinity_count(self):
        words, recording = self.words("sleep", "1.5")
        self.run_words(["taskset", "-c", str(CPUS[0]), *words])
        self.assertEqual(last(self.events(recording, "host"), "allowed_cpus"), 1)

    def test_an_affinity_set_by_the_job_itself_is_followed(self):
        words, recording = self.words("sh", "-c", "sleep 1.5; taskset -cp %d $$; sleep 2.5" % CPUS[0])
        self.run_words(words)
        hosts = self.events(recording, "host")
        first = int(re.search(r" allowed_cpus=(\d+)", hosts[0])[1])
        self.assertEqual(first, len(CPUS))
        self.assertEqual(last(hosts, "allowed_cpus"), 1)

    def test_the_cpus_of_a_waiting_shell_do_not_count_beside_those_of_a_pinned_command(self):
        busy = "taskset -c %d timeout 4 sh -c 'while :; do :; done'; true" % CPUS[0]
        words, recording = self.words("sh", "-c", busy)
        self.run_words(words)
        rows = values(self.events(recording, "host"), "allowed_cpus")
        self.assertEqual(rows[len(rows) // 2], 1, rows)  # the shell may be alone in the last one

    def recorded_together(self, *names):
        """Host rows of working programs side by side, each in a session of its own and of a job of that name."""
        done = self.path("done")
        jobs = []
        for name in names:
            words, recording = self.words(*WORKING, done)
            jobs.append((subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                          env=dict(os.environ, SLURM_JOB_ID="%s-%d" % (name, os.getpid())),
                                          start_new_session=True), recording))
        try:
            subprocess.run(["sleep", "5"], check=True)
        finally:
            open(done, "w").close()
        for job, _ in jobs:
            self.assertEqual(job.wait(PATIENCE), 0)
        return [self.events(recording, "host") for _, recording in jobs]

    def test_ranks_that_start_together_with_one_name_are_all_recorded(self):
        words = [STALLPROF, "run", "--report", "none", "--name", self.path("rank"), "--", "true"]
        jobs = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(16)]
        for job in jobs:
            self.assertEqual((job.wait(PATIENCE), b"unrecorded" in job.stderr.read()), (0, False))
            job.stderr.close()
        self.assertEqual(len([name for name in os.listdir(self.dir) if name.endswith(".stallprof")]), 16)

    def test_two_recorders_of_one_job_are_siblings(self):
        for hosts in self.recorded_together("one", "one"):
            self.assertEqual(last(hosts, "siblings"), 1)
            self.assertGreater(last(hosts, "sibling_cpu"), 0)

    def test_recorders_of_another_job_are_strangers(self):
        for hosts in self.recorded_together("one", "other"):
            self.assertEqual(last(hosts, "siblings"), 0)
            self.assertEqual(last(hosts, "sibling_cpu"), 0)


if __name__ == "__main__":
    main()
