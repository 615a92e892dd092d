# SPDX-License-Identifier: MIT
"""The setting that `stallprof tune` ends with, against every one of a grid of workers x prefetch_factor."""

import json
import os
import statistics
import subprocess
import time

import benchlib

WITHIN = 0.95   # of the best of the grid: what the setting has to reach
PART = 1 / 3    # of the grid's runs: what the search may take
PREFETCH = 2, 4, 8


def worker_counts():
    cores = len(os.sched_getaffinity(0))
    return sorted({0, (cores + 1) // 2, cores, (3 * cores + 1) // 2, 2 * cores})


def options_of(setting, report):
    """Of `run`; a setting is workers, prefetch_factor and threads."""
    workers, prefetch, threads = setting
    options = ["--set", f"num_workers={workers}"]
    if workers > 0:
        options += ["--set", f"prefetch_factor={prefetch}"]
    if workers > 0 and report["run"]["loaders"][0]["num_workers"] == 0:
        options += ["--set", "persistent_workers=true"]
    if len(report["run"]["loaders"]) > 1:
        options += ["--loader", "{file}:{line}".format(**report["tune"]["where"])]
    return options + (["--threads", str(threads)] if threads else [])


def setting_of(tried):
    return tried["num_workers"], tried["prefetch_factor"], tried["threads"]


class Grid:
    """A program's paces by setting, each of a run of `seconds`."""

    def __init__(self, words, work, report, seconds):
        self.words, self.work, self.report, self.seconds = words, work, report, seconds

    def pace(self, setting):
        run = benchlib.execute_profiled(self.words, "--for", str(self.seconds), *options_of(setting, self.report),
                                        folder=self.work)
        return run.report["steps"]["rate_per_s"] or 0

    def best(self):
        paces = {}
        for workers in worker_counts():
            for prefetch in PREFETCH if workers else (None,):
                paces[workers, prefetch, None] = self.pace((workers, prefetch, None))
        return max(paces, key=paces.get), paces


def text_of(setting):
    workers, prefetch, threads = setting
    return f"{workers}" + (f" x {prefetch}" if workers else "") + (f", threads {threads}" if threads else "")


def against_grid(name, words, work, recording, seconds, pairs):
    """A row of the page, and what misses."""
    began = time.monotonic()
    done = subprocess.run([str(benchlib.STALLPROF), "tune", "--for", str(seconds), str(recording)], cwd=work,
                          stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    if done.returncode not in (0, 4):
        return f"| {name} | could not be tuned | | | | | | |", [f"{name}: tune ended with {done.returncode}"]
    report = json.loads(subprocess.run([str(benchlib.STALLPROF), "report", "--format", "json", str(recording)],
                                       check=True, capture_output=True).stdout)
    tune = report["tune"]
    chosen = setting_of(tune["settings"][tune["best"]])
    grid = Grid(words, work, report, seconds)
    best, paces = grid.best()
    ratio, low, high = 1.0, 1.0, 1.0
    if chosen != best:  # the best of so many runs was lucky, too: both again, by turns
        ours, theirs = benchlib.abba(pairs, lambda: grid.pace(chosen), lambda: grid.pace(best))
        ratios = [a / b for a, b in zip(ours, theirs)]
        ratio, (low, high) = statistics.median(ratios), benchlib.interval(ratios)
    searched = len(tune["settings"])
    reached = ratio >= WITHIN and searched <= PART * len(worker_counts()) * len(PREFETCH)
    gain = f"{tune['measured']:.2f}x, {tune['outcome'].replace('_', ' ')}" if tune["measured"] else tune["outcome"]
    row = (f"| {name} | {text_of(chosen)} | {gain} | {text_of(best)} | {ratio:.3f} ({low:.3f} .. {high:.3f}) | "
           f"{searched} of {len(worker_counts()) * len(PREFETCH)} | {took:.0f} s | {'ok' if reached else 'off'} |")
    for setting, pace in sorted(paces.items(), key=str):
        print(f"{name}: {text_of(setting)}: {pace:.2f} steps/s", flush=True)
    return row, [] if reached else [f"{name}: {ratio:.3f} of the grid's best, by {searched} settings"]


def page(rows):
    return "\n".join(
        ["# Settings that tune finds", benchlib.provenance("scripts/verify_fixes --tune"),
         "`stallprof tune` on recordings of unmodified programs, against every setting of a grid: workers "
         f"{', '.join(map(str, worker_counts()))} x prefetch_factor {', '.join(map(str, PREFETCH))}, a run each (no workers have "
         "no prefetch_factor: one run). Ratio: pace of tune's setting by that of the grid's best, both run again by turns, with "
         f"a 95 % interval; ok: {WITHIN} and more with at most a third of the grid's settings. Tune's time holds the runs by "
         "turns that measure the gain.", "",
         "| program | tune | gain | grid's best | ratio | settings | tune took | |", "|---|---|---|---|---|---|---|---|",
         *rows, ""])
