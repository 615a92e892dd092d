# SPDX-License-Identifier: MIT
"""What the scripts that measure share: one run with its costs, the host's state, a dated page."""

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("STALLPROF_BUILD", "build/release")
STALLPROF = BUILD / "bin/stallprof"
DUMP = BUILD / "bin/stallprof-dump"
CHECK_TRACE = BUILD / "bin/check_trace"
TICK = os.sysconf("SC_CLK_TCK")


def python_with_torch():
    """The interpreter of the demo: Debian's, where it has torch, else the one on PATH."""
    for python in ("/usr/bin/python3", "python3"):
        probe = subprocess.run([python, "-c", "import torch"], capture_output=True)
        if probe.returncode == 0:
            return python
    raise SystemExit("no python3 with torch here; run scripts/setup")


def libraries(file):
    """What a program of Python imports that is neither the standard library's nor beside it."""
    names = re.findall(r"^(?:import|from) (\w+)", file.read_text(), re.M)
    return [name for name in dict.fromkeys(names)
            if name not in sys.stdlib_module_names and not (file.parent / f"{name}.py").exists()]


def python_for(file, pythons):
    """The first that has all of its libraries, and their versions in a line; None, None: none has."""
    probe = ("import importlib, platform, sys\n"
             "have = [(n, getattr(importlib.import_module(n), '__version__', '').split('+')[0]) for n in sys.argv[1:]]\n"
             "print(', '.join(' '.join(p).strip() for p in have) + '; Python ' + platform.python_version())")
    for python in pythons:
        found = subprocess.run([python, "-c", probe, *libraries(file)], capture_output=True, text=True)
        if found.returncode == 0:
            return python, found.stdout.splitlines()[-1]
    return None, None


@dataclasses.dataclass
class Costs:
    """What lasts, by the seconds after SETTLED, and what is paid once however long the run: start, births
    of threads, end. Not a number where the run was too short to separate them."""
    cpu: float = float("nan")          # share of one core that lasts, front and recorder
    cpu_once: float = float("nan")     # seconds
    bytes: float = float("nan")        # written in a second, lasting
    bytes_once: float = float("nan")
    peak_rss: float = float("nan")     # bytes: the largest of the recorder's own reports, one a second
    stacks: float = float("nan")       # samples of Python stacks in a second, lasting


@dataclasses.dataclass
class Run:
    wall: float          # seconds
    cpu: float           # seconds, the command and all it waited for (ours included when wrapped)
    queued: float        # seconds in which some task of the host waited for a CPU (PSI); nan: not known
    external: float      # share of all CPUs used by others
    stdout: str
    status: int
    report: dict | None = None
    costs: "Costs | None" = None   # of front and recorder, when it was a run of `stallprof run`


def host_times():
    """Seconds of all CPUs together: user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(ticks) / TICK for ticks in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def host_cpu():
    return sum(seconds for i, seconds in enumerate(host_times()) if i not in (3, 4))


def host_steal():
    return host_times()[7]


def stolen_when_busy(length=1.0):
    """Part of all CPUs that the hypervisor takes while all of them compute for `length` seconds: from idle ones it takes
    nothing."""
    loop = f"import time\nend = time.monotonic() + {length}\nwhile time.monotonic() < end: pass"
    before, began = host_steal(), time.monotonic()
    for child in [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(os.cpu_count())]:
        child.wait()
    return (host_steal() - before) / (time.monotonic() - began) / os.cpu_count()


def wait_for_quiet(maximum, patience):
    """Until the hypervisor takes no more than `maximum` of the CPUs, at most `patience` seconds; whether it does."""
    began = time.monotonic()
    while stolen_when_busy() > maximum:
        if time.monotonic() - began > patience:
            return False
        time.sleep(10)
    return True


def host_queued():
    """Seconds in which some runnable task had no CPU: PSI. /proc/schedstat, the sum over tasks, is
    absent from many kernels."""
    try:
        some = pathlib.Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return float("nan")
    return int(some.rsplit("total=", 1)[1]) / 1e6


def execute(command, environment=None, folder=ROOT):
    busy, queued, began = host_cpu(), host_queued(), time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        out.seek(0)
        text = out.read().decode(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime
    external = max(0.0, host_cpu() - busy - cpu) / (wall * os.cpu_count())
    return Run(wall, cpu, host_queued() - queued, external, text, child.returncode)


def execute_profiled(command, *options, keep=None, settled=4, environment=None, folder=ROOT):
    """The command under `stallprof run` in `folder`; its report as JSON. `keep`: where to leave the
    recording. `settled`: after so many seconds what is spent is what lasts."""
    with tempfile.TemporaryDirectory(prefix="bench.") as scratch:
        recording = str(keep or f"{scratch}/r.stallprof")
        pathlib.Path(recording).parent.mkdir(parents=True, exist_ok=True)
        run = execute([str(STALLPROF), "run", "-o", recording, "--report", "none",
                       *options, "--", *command], environment, folder)
        run.costs = recorder_costs(recording, settled)
        report = subprocess.run([str(STALLPROF), "report", recording, "--format", "json"],
                                capture_output=True, text=True)
        if report.returncode != 0:
            raise SystemExit(f"no report of {command}: {report.stderr.strip()}")
        run.report = json.loads(report.stdout)
    return run


def size(path):
    if path.is_dir():
        return sum(size(p) for p in path.iterdir())
    return path.stat().st_size


def measure(command):
    """Seconds, megabytes at the peak. A child's peak counts ours from before its exec: we stay small."""
    begun = time.monotonic()
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command}: {said.strip()}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024


def recorder_costs(recording, settled=4):
    dump = subprocess.run([str(DUMP), recording], capture_output=True, text=True, errors="replace").stdout
    usage = [[int(line.split()[0]) / 1e9, int(re.search(r" cpu=(\d+)", line)[1]) / 1e9,
              int(re.search(r" written=(\d+)", line)[1]), int(re.search(r" rss=(\d+)", line)[1])]
             for line in dump.splitlines() if re.match(r"\d+ recorder ", line)]
    peak_rss = max((u.pop() for u in usage), default=float("nan"))
    lasting = [u for u in usage[:-1] if u[0] - usage[0][0] >= settled]
    if len(lasting) < 3:
        return Costs(peak_rss=peak_rss)
    (begin, *first), (end, *last) = lasting[0], lasting[-1]
    rates = [(b - a) / (end - begin) for a, b in zip(first, last)]
    once = [total - rate * (usage[-1][0] - usage[0][0]) for total, rate in zip(usage[-1][1:], rates)]
    return Costs(rates[0], once[0], rates[1], once[1], peak_rss, stacks_between(dump, begin, end) / (end - begin))


def stacks_between(dump, begin, end):
    slices = re.findall(r"^(\d+) stack_slice (.*)", dump, re.MULTILINE)
    samples = ((int(at) / 1e9, re.search(r"\bsamples=(\d+)", fields)) for at, fields in slices)
    return sum(int(some[1]) if some else 1 for at, some in samples if begin <= at < end)


def abba(pairs, a, b):
    """`pairs` runs of each, in the order a b b a a b b a ...: drift of the host falls on both."""
    runs = {a: [], b: []}
    for i in range(pairs):
        for which in ((a, b) if i % 2 == 0 else (b, a)):
            runs[which].append(which())
    return runs[a], runs[b]


def interval(values, statistic=statistics.median, rounds=2000, coverage=0.95):
    """Percentile bootstrap interval of a statistic; fixed seed, so a page can be made again."""
    rng = random.Random(1)
    draws = sorted(statistic(rng.choices(values, k=len(values))) for _ in range(rounds))
    tail = (1 - coverage) / 2
    return draws[int(tail * rounds)], draws[int((1 - tail) * rounds) - 1]


def commit():
    """What was measured: the last commit of anything but pages, which do not change it."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return git("log", "-1", "--format=%h", "--", ".", ":!reports") + ("-dirty" if git("status", "--porcelain", "-uno", "--", ".", ":!reports") else "")


def host():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), "unknown")
    return f"{cpu}, {os.cpu_count()} CPUs, Linux {platform.release()}"


def provenance(script, measured=""):
    """`measured`: the commits that were, where it is not this one."""
    return (f"Written by `{script}` on {datetime.date.today()}, commit {measured or commit()}. "
            f"Host: {host()}, shared and not quiet.\n")


def write_page(name, text):
    """A page under reports/; in the build's folder where changes are not committed, as no commit repeats it."""
    path = (BUILD if commit().endswith("-dirty") else ROOT / "reports") / name
    path.write_text(text)
    print(f"wrote {os.path.relpath(path, ROOT)}")
