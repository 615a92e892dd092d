# SPDX-License-Identifier: MIT
"""The page of scripts/validate_gpu: what was recorded on a GPU beside what the programs logged themselves."""
import datetime
import json
import pathlib
import re
import statistics
import subprocess

import benchlib

SECOND = 1_000_000_000
CASES = ("slow_loader", "device_bound", "healthy", "launch_bound", "pageable_copy", "item_loop", "graphs", "profiled")
COMPARED = ("slow_loader", "device_bound", "launch_bound", "pageable_copy", "item_loop")  # never in windows
TRACED = ("device_bound", "pageable_copy")  # torch.profiler's trace is kept, for scripts/verify_hta
SIZES = ("2", "5", "20", "100")  # of the steps of trainings.py cost, in ms, about
# What runs beside each other for its cost: alone; under recorder and hook; with CUPTI, of which nothing is recorded;
# with --gpu, and with --gpu=windows.
VARIANTS = ("alone", "no_gpu", "attached", "windows", "gpu")
COLUMNS = {"no_gpu": "no GPU", "attached": "CUPTI alone", "copies": "copies and waits alone", "windows": "--gpu=windows",
           "gpu": "--gpu"}  # copies: until fe7e54d3
IN_WINDOWS = ("windows", "gpu")
ENDINGS = ("exit", "os_exit", "sigkill", "sigterm", "exception", "fork", "spawn", "threads", "reset", "subprocess", "none")
# What may stand first, by what the ablations gain and by what the program does. A step of many launches that the host
# makes too slowly is launch_bound or small_ops, which are one cause, seen from the device and from the host.
HOST_BOUND = {"compute.launch_bound", "compute.small_ops"}
EXPECTED = {
    "slow_loader": {"transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"},
    "device_bound": {"compute.device_bound"},
    "healthy": {"compute.device_bound"},
    "launch_bound": HOST_BOUND,
    "pageable_copy": {"load.pageable_copy"},
    "item_loop": {"compute.sync_points"},
    "graphs": HOST_BOUND | {"compute.device_bound"},
    "profiled": {"compute.device_bound"},
}
MADE_IN_LOOP = {"compute.host_work", "transform.in_process"}
NEAR = 0.05  # of a share
EXACT = 0.01
FEW = 5  # steps
SETTLE = 300_000_000  # ns of a turn, until the device has as much before it as it will have
COST = 1.02  # the most that a step of 5 ms or more may take of what it takes alone


def load(path):
    return json.loads(path.read_text()) if path.exists() else None


def dump_of(recording):
    return subprocess.run([str(benchlib.DUMP), str(recording)], capture_output=True, text=True, errors="replace").stdout


def report_of(recording):
    done = subprocess.run([str(benchlib.STALLPROF), "report", str(recording), "--format", "json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def percent(value, digits=0):
    return "-" if value is None else f"{value:{'+' if digits else ''}.{digits}%}"


def off(ours, theirs):
    """How far ours is from theirs; what is below 20 us a step is not compared."""
    return None if ours is None or not theirs or theirs < 0.02 else ours / theirs - 1


class Seconds:
    """Of the whole seconds in which kernels were traced and the program timed itself: what of the device's work ended
    in them, by the recording, and how many of the program's steps began."""

    def __init__(self, text, log):
        traced = [(int(at), int(at) + int(length)) for at, length in
                  re.findall(r"^(\d+) device_trace .*duration=(\d+) kernels=1", text, re.M)]
        first, last = -(-log["begin"] // SECOND), (log["begin"] + int(log["seconds"] * 1e9)) // SECOND
        self.whole = {s for s in range(first, last)
                      if overlap(traced, s * SECOND, (s + 1) * SECOND) >= SECOND * (1 - 1e-6)}
        self.steps = sum(at // SECOND in self.whole for at in log["begins"])
        self.kernel = self.count = self.copy = 0
        for line in re.findall(r"^\d+ device_use .*", text, re.M):
            kind = (re.search(r" kind=(\w+)", line) or ["", "kernel"])[1]
            if int(line.split()[0]) // SECOND in self.whole:
                time, count = (int(re.search(rf" {field}=(\d+)", line)[1]) for field in ("time", "count"))
                if kind in ("kernel", "collective", "graph"):
                    self.kernel, self.count = self.kernel + time, self.count + count
                elif kind != "set":
                    self.copy += time
        self.busy = sum(
            int(busy) * overlap([(int(at), int(at) + int(length))], s * SECOND, (s + 1) * SECOND) / max(1, int(length))
            for at, length, busy in re.findall(r"^(\d+) device_span .*duration=(\d+) busy=(\d+)", text, re.M)
            for s in {int(at) // SECOND, (int(at) + int(length)) // SECOND} & self.whole)

    def of_step(self, total, scale=1e6):
        return total / scale / self.steps if self.steps else None


def overlap(intervals, begin, end):
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in intervals)


class Case:
    """One training's recording beside its own log."""

    def __init__(self, folder, name):
        self.name, self.log = name, load(folder / f"{name}.json")
        recording = folder / f"{name}.stallprof"
        self.report = report_of(recording) if self.log else None
        if self.report:
            findings = self.report["findings"]
            self.top = findings[0]["id"] if findings else "none"
            self.traced = (self.report.get("device") or {}).get("traced_ratio")
            self.seconds = Seconds(dump_of(recording), self.log)

    def offsets(self):
        """Ours against torch.profiler's: busy, kernels, how many of them, copies."""
        if self.name not in COMPARED:
            return (None,) * 4
        s, theirs = self.seconds, self.log
        return (off(s.of_step(s.busy), theirs["busy_ms"]), off(s.of_step(s.kernel), theirs["kernel_ms"]),
                off(s.of_step(s.count, 1), theirs["kernels"]), off(s.of_step(s.copy), theirs["copy_ms"]))

    def line(self, right):
        log, (busy, kernel, count, copy) = self.log, self.offsets()
        return (f"| {self.name} | {log['median_ms']:.2f} ms | {self.top} | {right} | {percent(self.traced)} "
                f"| {log['busy_ms']:.3f} ms, {percent(busy, 1)} | {log['kernel_ms']:.3f} ms, {percent(kernel, 1)} "
                f"| {log['kernels']:.1f}, {percent(count, 1)} | {log['copy_ms']:.3f} ms, {percent(copy, 1)} "
                f"| {log['event_ms']:.2f} ms |")


def case_lines(folder):
    """The table's lines, and what missed."""
    lines, missed = [], []
    for name in CASES:
        case = Case(folder, name)
        if not case.report:
            continue
        right = case.top in EXPECTED[name]
        lines.append(case.line("yes" if right else "NO"))
        if not right:
            missed.append(f"{name}: {case.top} stands first")
        for what, value in zip(("busy time", "kernel time", "kernels", "copy time"), case.offsets()):
            if value is not None and abs(value) > EXACT:
                missed.append(f"{name}: {what} {value:+.1%}")
    return lines, missed


def shared_lines(folder):
    """Two trainings on one device, beside the same one that had it alone in the same session."""
    alone = load(folder / "device_bound.json")
    for name in ("shared_1", "shared_2"):
        case = Case(folder, name)
        if not case.report or not alone:
            continue
        first = case.report["findings"][0] if case.report["findings"] else {}
        high = ((first.get("advice") or [{}])[0].get("predicted") or {}).get("high")
        yield (f"| {name} | {alone['median_ms']:.2f} ms | {case.log['median_ms']:.2f} ms "
               f"| {case.log['median_ms'] / alone['median_ms']:.2f} | {case.top} | {f'{high:.2f}' if high else '-'} |")


def jax_lines(folder):
    """JAX with batches made in the loop: the program's own timer beside the finding, and what missed."""
    log, recording = load(folder / "jax.json"), folder / "jax.stallprof"
    if not log:
        return [], []
    report = report_of(recording) or {"findings": [], "device": {}}
    first = (report["findings"] or [{"id": "none", "share_ratio": 0}])[0]
    busy = sum(device["busy_ratio"] or 0 for device in report["device"].get("devices", []))
    # What is made while the device works is in the program's timer, and in no gap.
    right = first["id"] in MADE_IN_LOOP and -NEAR - busy <= first["share_ratio"] - log["wait_ratio"] <= NEAR
    line = (f"A step takes {log['step_ms']:.2f} ms, of which its batch {log['wait_ratio']:.1%} by the program's own timer. Top "
            f"finding: {first['id']}, {first['share_ratio']:.1%}.")
    return [line], [] if right else [f"jax: {first['id']} of {first['share_ratio']:.1%} stands first"]


def ablation_lines(folder):
    for case, runs in (load(folder / "ablation.json") or {}).items():
        if not isinstance(runs, list):
            continue
        broken = next((run["error"] for run in runs if "error" in run), None)
        if broken:
            yield f"| {case} | {broken[:80]} | | |"
            continue
        gain = runs[0]["median_ms"] / runs[1]["median_ms"] * (2 if case == "device_bound" else 1)
        yield f"| {case} | {runs[0]['median_ms']:.2f} ms | {runs[1]['median_ms']:.2f} ms | {gain:.2f} |"


def ending_lines(folder):
    for how in ENDINGS:
        recording = folder / f"ending_{how}.stallprof"
        if not recording.exists():
            continue
        text = dump_of(recording)
        counted = sum(int(count) for count in re.findall(r" device_use .*erfinv.* count=(\d+)", text))
        said = (folder / f"ending_{how}.out").read_text().split()
        lost = sum(int(count) for count in re.findall(r" loss kind=device_\w+ count=(\d+)", text))
        yield f"| {how} | {said[0] if said else '-'} | {counted} | {lost} |"


def windows_of(recording):
    """[begin, end] of each time in which kernels were recorded."""
    windows = []
    for at, length in re.findall(r"^(\d+) device_trace .*duration=(\d+) kernels=1", dump_of(recording), re.M):
        begin, end = int(at), int(at) + int(length)
        if windows and begin - windows[-1][1] < 1_000_000:
            windows[-1][1] = end
        else:
            windows.append([begin, end])
    return windows


def steps_in(log, begin, end):
    return [(a, b) for a, b in zip(log["begins"], log["begins"][1:]) if begin <= a and b <= end]


def mean_step(log, begin, end):
    """In ms; not a number where there are too few."""
    steps = steps_in(log, begin, end)
    return (steps[-1][1] - steps[0][0]) / len(steps) / 1e6 if len(steps) >= FEW else float("nan")


def by_window(steps, windows):
    """Milliseconds of the steps wholly recorded, and of those of which nothing was."""
    recorded = [(b - a) / 1e6 for a, b in steps if any(w[0] <= a and b <= w[1] for w in windows)]
    beside = [(b - a) / 1e6 for a, b in steps if not any(w[0] < b and a < w[1] for w in windows)]
    return recorded, beside


def cost_table(folder):
    """Head and lines, one a step length: each turn of a variant against the turn alone of the same round."""
    logs = {variant: load(folder / f"cost_{variant}.json") for variant in ("alone", *COLUMNS)}
    windows = {name: windows_of(folder / f"cost_{name}.stallprof") for name in IN_WINDOWS if logs[name]}
    columns = [(variant, what) for variant in COLUMNS if logs[variant]
               for what in (("recorded", "beside") if variant in IN_WINDOWS else ("",))]
    lines = []
    for size in SIZES:
        of = {variant: log[size] for variant, log in logs.items() if log and size in log}
        if "alone" not in of:
            continue
        turns = {variant: [(begin + SETTLE, end) for begin, end in log["turns"]] for variant, log in of.items()}
        alone = [mean_step(of["alone"], *turn) for turn in turns["alone"]]
        cells = {column: [] for column in columns}
        for variant in of.keys() & COLUMNS.keys():
            for turn, base in zip(turns[variant], alone):
                if variant not in IN_WINDOWS:
                    cells[variant, ""].append(mean_step(of[variant], *turn) / base)
                    continue
                for what, times in zip(("recorded", "beside"), by_window(steps_in(of[variant], *turn), windows[variant])):
                    cells[variant, what] += [statistics.mean(times) / base] if len(times) >= FEW else []
        lines.append(f"| {size} ms | {statistics.median(alone):.2f} ms | " + " | ".join(map(ratio_cell, cells.values()))
                     + f" | {len(alone)} |")
    head = " | ".join(f"{COLUMNS[variant]}{', ' if what else ''}{what}" for variant, what in columns)
    return f"| about | alone | {head} | rounds |", lines


def ratio_cell(ratios):
    ratios = [ratio for ratio in ratios if ratio == ratio]
    if not ratios:
        return "-"
    low, high = benchlib.interval(ratios)
    return f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"


def turn_lines(folder):
    """A line a step length, and what missed: each interval with the agent against those without on both sides."""
    lines, missed = [], []
    for size, log in ((size, (load(folder / "turns.json") or {}).get(size)) for size in SIZES):
        if not log or len(log["without"]) < 4:
            continue
        without = list(zip(log["without"][::2], log["without"][1::2]))
        mean = {span: mean_step(log, *span) for span in without + [(a[1], b[0]) for a, b in zip(without, without[1:])]}
        ratios = [mean[(a[1], b[0])] * 2 / (mean[a] + mean[b]) for a, b in zip(without, without[1:])]
        low, high = benchlib.interval(ratios)
        lines.append(f"| {size} ms | {statistics.median([mean[span] for span in without]):.2f} ms "
                     f"| {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}] | {len(ratios)} |")
        if mean[without[0]] >= 5 and statistics.median(ratios) > COST:
            missed.append(f"cost by turns at {size} ms: {statistics.median(ratios):.3f}")
    return lines, missed


def within_lines(folder):
    """Of runs recorded in windows: steps while kernels and calls were recorded, and while they were not."""
    named = [(name, folder / f"{name}.stallprof", load(folder / f"{name}.json")) for name in CASES if name not in COMPARED]
    turns = load(folder / "turns.json") or {}
    named += [(f"{size} ms", folder / "turns.stallprof", turns.get(size)) for size in SIZES]
    for name, recording, log in named:
        if not log:
            continue
        first, last = log["begins"][0], log["begins"][-1]
        windows = windows_of(recording)
        times = by_window(steps_in(log, first, last), windows)
        if min(map(len, times)) < FEW:
            continue
        on, beside = map(statistics.median, times)
        part = overlap(windows, first, last) / (last - first)
        yield f"| {name} | {beside:.2f} ms, {len(times[1])} | {on:.2f} ms, {len(times[0])} | {on / beside - 1:+.1%} | {part:.0%} |"


def cost_of_windows(log, windows):
    """How much longer a run took than if all of its steps had been as those that no window touches, as a share; the
    means of the steps in windows and beside; the windows' part of the time."""
    first, last = log["begins"][0], log["begins"][-1]
    recorded, beside = by_window(steps_in(log, first, last), windows)
    if min(len(recorded), len(beside)) < FEW:
        return None
    usual = statistics.mean(beside)
    return ((last - first) / 1e6 / (len(log["begins"]) - 1) / usual - 1, statistics.mean(recorded), usual,
            overlap(windows, first, last) / (last - first))


def long_lines(folder):
    """A long run: its windows, what they cost, what was lost, and what nvidia-smi says of the device's memory; and what
    missed."""
    log, smi = load(folder / "long.json"), folder / "long.smi"
    if not log or not smi.exists():
        return [], []
    rows = [row.split(", ") for row in smi.read_text().splitlines()[1:]]
    memory = [float(row[4]) for row in rows if len(row) == 12 and row[4].replace(".", "").isdigit()][2:]
    text = dump_of(folder / "long.stallprof")
    lost = sum(int(count) for count in re.findall(r" loss kind=device_\w+ count=(\d+)", text))
    if not memory or not text:
        return [], ["the long run left no recording, or nvidia-smi no memory"]
    tenth, windows = max(1, len(memory) // 10), windows_of(folder / "long.stallprof")
    cost = cost_of_windows(log, windows)
    lines = [f"{log['seconds']:.0f} s, {log['steps']} steps, {len(windows)} windows; records lost: {lost}. Device memory in "
             f"use: {statistics.median(memory[:tenth]):,.0f} MiB in the first tenth, "
             f"{statistics.median(memory[-tenth:]):,.0f} in the last, {max(memory):,.0f} at most."]
    if cost:
        lines.append("A step took {1:.2f} ms in windows, {2:.2f} beside (means); windows were {3:.1%} of the time. The run "
                     "took {0:.2%} longer\nthan with all steps as those beside; bound: {4:.0%}.".format(*cost, COST - 1))
    missed = [] if len(windows) > 1 else [f"the long run had {len(windows)} windows"]
    return lines, missed + ([f"cost of windows in the long run: {cost[0]:.2%}"] if cost and cost[0] > COST - 1 else [])


def gauge_lines(folder, name="healthy"):
    """NVML's figures as we have them, beside what nvidia-smi said meanwhile; from the first that shows it at work."""
    if not (folder / f"{name}.stallprof").exists():
        return
    text = dump_of(folder / f"{name}.stallprof")
    ours = [dict(re.findall(r"(\w+)=(-?\d+)", line)) for line in text.splitlines() if " device_usage " in line]
    ours = [u for u in ours if int(u.get("busy", 0)) > 0]
    path = folder / f"{name}.smi"
    rows = [row.split(", ") for row in path.read_text().splitlines()[1:]] if path.exists() else []
    rows = [row for row in rows if len(row) == 12 and row[2] not in ("0", "[N/A]")]
    if not ours or not rows:
        return
    for what, key, scale, column in (("busy", "busy", 0.1, 2), ("memory busy", "memory_busy", 0.1, 3),
                                     ("memory, MiB", "memory", 1 / 2**20, 4), ("power, W", "power", 1e-3, 6),
                                     ("SM clock, MHz", "clock", 1, 7), ("memory clock, MHz", "memory_clock", 1, 9),
                                     ("temperature, C", "celsius", 1, 10)):
        mine = [int(u[key]) * scale for u in ours if key in u]
        theirs = [float(row[column]) for row in rows]
        yield (f"| {what} | {statistics.median(mine):,.0f} ({min(mine):,.0f} to {max(mine):,.0f}), {len(mine)} "
               f"| {statistics.median(theirs):,.0f} ({min(theirs):,.0f} to {max(theirs):,.0f}), {len(theirs)} |")


def table(title, about, head, lines):
    """A section of the page; none where its part was not run."""
    lines = list(lines)
    if not lines:
        return ""
    rule = "|" + "---|" * (head.count("|") - 1)
    return "\n".join((f"\n## {title}", about, "", head, rule, *lines, "")) if head else "\n".join((f"\n## {title}", *lines, ""))


def write(folder, name):
    about, notes = load(folder / "host.json"), benchlib.ROOT / f"tools/gpu/notes_{pathlib.Path(name).stem}.md"
    smi = (folder / "nvidia-smi.txt").read_text()
    found = {key: (re.search(key + r"\s*: (.*)", smi) or ["", "unknown"])[1] for key in ("Product Name", "Driver Version")}
    torch = next((log for log in (load(folder / f"{case}.json") for case in CASES) if log), {})
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    cases, missed = case_lines(folder)
    turns, costly_turns = turn_lines(folder)
    jax, jax_missed = jax_lines(folder)
    long, long_missed = long_lines(folder)
    failed = [f"{run['name']}: ended with {run['status']} after {run['seconds']:.0f} s" for run in runs
              if run["status"] != 0 and not run["name"].startswith("ending_")]
    missed += jax_missed + costly_turns + long_missed + failed
    benchlib.write_page(name, f"""# Trainings on a real GPU
Written by `scripts/validate_gpu --page` on {datetime.date.today()}; measured at commit {about['commit']}, read at commit
{benchlib.commit()}. Device: {found['Product Name']}, driver {found['Driver Version']}, CUDA {torch.get('cuda')}, PyTorch
{torch.get('torch')}. Host: {about['host']}. A part that has no section here was not run.
""" + table("Trainings", """Busy time, kernels and copies of a step are the program's own: torch.profiler over a second at its end. Ours differ from
them by the percentage behind, over the seconds before in which everything was recorded; of the other trainings, which
are recorded in windows, as by default, and of what is below 20 us a step nothing is compared. The last column is a
step between CUDA events with an idle device before it.""",
            "| training | step | top finding | right | traced | busy | kernels | how many | copies | events |", cases)
        + table("JAX, batches made in the loop", "", "", jax)
        + table("What removal of the fault gains",
                "Alone, without stallprof. Of device_bound the batch is doubled, and the gain is by samples.",
                "| training | with | without | times as fast |", ablation_lines(folder))
        + table("Two trainings on one device", "device_bound twice at one time, each under its own recorder; alone it ran in "
                "the same session, with everything\nrecorded.",
                "| training | alone | shared | times as slow | top finding | up to |", shared_lines(folder))
        + table("Kernels counted, however the process ends", "Everything is recorded, never in windows. CUPTI keeps what is "
                "younger than the last flush, a second at most: what ends\nwithout handlers loses it, and says nothing of it.",
                "| end | launched | counted | reported as lost |", ending_lines(folder))
        + table("Cost", """A step against one alone, of processes at one time of which each is at work for 2 s, then the next. Under recorder and
hook; with CUPTI there and nothing recorded; with tracing steps that were recorded, and steps beside. Medians of the
rounds, and 95 % intervals.""", *cost_table(folder))
        + table("Cost within one run", f"CUPTI is taken from the agent for 2.5 s after each 5 s: means of intervals with it "
                f"against those beside; bound from\n5 ms on: {COST:.2f}.", "| about | without | ratio | intervals |", turns)
        + table("Steps in windows and beside", "Medians and numbers of steps; the last column is the windows' part of the time.",
                "| training | beside | recorded | more | windows |", within_lines(folder))
        + table("A long run in windows", "", "", long)
        + table("NVML beside nvidia-smi", "Medians, ranges and numbers of readings of one run while the device was at work.",
                "| figure | ours | nvidia-smi |", gauge_lines(folder))
        + "\n## What missed\n" + ("\n".join(f"- {miss}" for miss in missed) or "Nothing.") + "\n"
        + (notes.read_text() if notes.exists() else ""))
    return 1 if missed else 0
