#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings on a GPU, each with one fault (or none), that time themselves. They know nothing of
stallprof, but for `turns`: what they log is what its reports are compared with.

  trainings.py slow_loader --seconds 6      ResNet-18 behind one worker that cannot keep up
  trainings.py device_bound                 the same network with batches always ready
  trainings.py healthy                      ResNet-50, bf16, channels-last, four workers that keep up
  trainings.py launch_bound                 a deep, narrow network whose kernels are shorter than their launches
  trainings.py pageable_copy                big batches copied from pageable memory, every step
  trainings.py item_loop                    a value is read back after each layer
  trainings.py graphs                       torch.compile with CUDA graphs
  trainings.py profiled                     device_bound, with torch.profiler on for an interval of steps
  trainings.py cost --meet DIR --place I/N  steps of about 2, 5, 20 and 100 ms, one after another; of N such processes at
                                            one time each is at work for some seconds, then the next
  trainings.py turns                        steps of the same lengths; CUPTI is taken from stallprof's agent by turns, as
                                            the hook does for torch.profiler: what the agent costs, within one run
  trainings.py ablation                     each case with its fault and without, one after another

The log is one JSON object: steps, seconds, wait and copy shares by the program's own clock. With --kernels
it has the kernels of a step as torch.profiler counts them over a second at the end, and the device's time of a
step between CUDA events, and torch.profiler's trace is in --trace. Without a GPU they run on the CPU, which shows that
they run and nothing else."""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
WARM_UP = 20  # steps: cuDNN chooses its algorithms, torch.compile compiles
# What `fixed` removes; of device_bound it doubles the batch.
FAULTS = ("slow_loader", "device_bound", "launch_bound", "pageable_copy", "item_loop")
COST = ("2", "5", "20", "100")  # milliseconds, about


class Photos(Dataset):
    """Made-up pictures; `milliseconds` of CPU are spent on each."""

    def __init__(self, count, side, milliseconds):
        self.count, self.side, self.milliseconds = count, side, milliseconds

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        end = time.perf_counter() + self.milliseconds / 1e3
        picture = torch.full((3, self.side, self.side), (index % 255) / 255)
        while time.perf_counter() < end:
            picture.add_(0)
        return picture, index % 10


class Fixed:
    """The same batch for ever: no loader."""

    def __init__(self, *shape, pinned=None):
        self.batch = torch.randn(*shape), torch.randint(10, (shape[0],))
        if pinned is None:
            self.batch = tuple(part.to(DEVICE) for part in self.batch)
        elif pinned and DEVICE.type == "cuda":
            self.batch = tuple(part.pin_memory() for part in self.batch)

    def __iter__(self):
        while True:
            yield self.batch


def loader(milliseconds, workers, batch=64, side=128):
    return DataLoader(Photos(100_000, side, milliseconds), batch_size=batch, num_workers=workers,
                      pin_memory=DEVICE.type == "cuda", persistent_workers=workers > 0)


def resnet(name="resnet18"):
    return getattr(torchvision.models, name)(num_classes=10).to(DEVICE)


def narrow(depth, width):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10)).to(DEVICE)


class Wide(nn.Module):
    """Layers of some 0.2 ms on a large GPU, after each of which the program may read a value back."""

    def __init__(self, depth, width, reads):
        super().__init__()
        kind = {"device": DEVICE, "dtype": torch.bfloat16 if DEVICE.type == "cuda" else torch.float32}
        self.layers = nn.ModuleList(nn.Linear(width, width, **kind) for _ in range(depth))
        self.last, self.reads = nn.Linear(width, 10, **kind), reads

    def forward(self, values):
        values = values.to(self.last.weight.dtype)
        for layer in self.layers:
            values = torch.relu(layer(values))
            if self.reads and values[0, 0].item() < 0:
                raise SystemExit("a negative value")
        return self.last(values).float()


def settings(case, fixed):
    """(batches, model)"""
    if case == "slow_loader":
        return loader(0 if fixed else 2.0, 1), resnet()
    if case in ("device_bound", "profiled"):
        return Fixed(512 if fixed else 256, 3, 128, 128), resnet()
    if case == "healthy":
        return loader(0, 4, 384, 160), resnet("resnet50").to(memory_format=torch.channels_last)
    if case == "launch_bound":
        return Fixed(8, 64), narrow(120, 64)
    if case == "pageable_copy":
        return Fixed(256, 3, 224, 224, pinned=fixed), nn.Sequential(
            nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3 * 28 * 28, 10)).to(DEVICE)
    if case == "item_loop":
        return Fixed(1024, 8192), Wide(24, 8192, not fixed)
    if case == "graphs":
        return Fixed(64, 256), torch.compile(narrow(24, 256), mode="reduce-overhead")
    if case == "2":
        return Fixed(64, 256), narrow(24, 256)
    if case == "5":
        return Fixed(32, 3, 64, 64), resnet()
    if case == "20":
        return Fixed(48, 3, 224, 224), resnet("resnet50")
    if case == "100":
        return Fixed(192, 3, 224, 224), resnet("resnet50")
    raise SystemExit(f"trainings.py: no case {case}")


def synchronize():
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


class Turns:
    """With stallprof's agent and without, some seconds each."""
    WITH, WITHOUT = 5, 2.5  # seconds: the first holds a window in which kernels are recorded and the time between two

    def __init__(self):
        path = os.environ.get("CUDA_INJECTION64_PATH", "")
        if not path.endswith("libstallprof_agent.so"):
            raise SystemExit("trainings.py: turns is for `stallprof run --gpu`")
        self.agent = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        self.next, self.without = time.monotonic() + self.WITH, []

    def between_steps(self):
        if time.monotonic() < self.next:
            return
        if len(self.without) % 2 == 0:
            self.agent.stallprof_agent_release()
            self.next = time.monotonic() + self.WITHOUT
        else:
            self.agent.stallprof_agent_retake()
            self.next = time.monotonic() + self.WITH
        self.without.append(time.monotonic_ns())  # begin and end by turns

    def end(self):
        if len(self.without) % 2 == 1:
            self.agent.stallprof_agent_retake()
            self.without.append(time.monotonic_ns())
        return self.without


class Rota:
    """Of several processes each is at work for TURN seconds and the others sleep, so that what changes the host's or the
    device's speed meets all of them alike. ROUNDS times, in each second one backwards."""
    TURN, ROUNDS = 2, 4
    PATIENCE = 40  # seconds for one that has died

    def __init__(self, meet, place):
        self.meet, (self.place, self.all) = pathlib.Path(meet), (int(n) for n in place.split("/"))

    def begin(self, case):
        """When all of them have made this training: the first one says when."""
        (self.meet / f"{case}.{self.place}").touch()
        start, until = self.meet / f"{case}.start", time.monotonic() + self.PATIENCE
        while self.place == 0 and len(list(self.meet.glob(f"{case}.[0-9]*"))) < self.all and time.monotonic() < until:
            time.sleep(0.02)
        if self.place == 0:
            (self.meet / "draft").write_text(str(time.monotonic_ns() + 500_000_000))
            (self.meet / "draft").rename(start)
        while not start.exists():
            time.sleep(0.02)
        return int(start.read_text())

    def turns(self, case):
        """[begin, end] of each of its own, in ns."""
        begin, turn = self.begin(case), self.TURN * 1_000_000_000
        for number in range(self.ROUNDS):
            place = self.place if number % 2 == 0 else self.all - 1 - self.place
            at = begin + (number * self.all + place) * turn
            yield [at, at + turn]

    def run(self, case):
        training = Training(case)
        training.warm_up()
        training.begins, turns = [], []
        for begin, end in self.turns(case):
            time.sleep(max(0, begin - time.monotonic_ns()) / 1e9)
            while time.monotonic_ns() < end:
                training.step()
            synchronize()
            turns.append([begin, end])
        return {"case": case, "turns": turns, "begins": training.begins}


class Training:
    def __init__(self, case, fixed=False):
        self.case, self.fixed = case, fixed
        self.batches, self.model = settings(case, fixed)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.source = iter(self.batches)
        self.begins, self.waited, self.copied, self.graph = [], 0, 0, None

    def compute(self, pictures, labels):
        if self.case == "healthy":
            with torch.autocast(DEVICE.type, torch.bfloat16):
                loss = nn.functional.cross_entropy(self.model(pictures), labels)
        else:
            loss = nn.functional.cross_entropy(self.model(pictures), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def step(self):
        begin = time.monotonic_ns()
        pictures, labels = next(self.source)
        fetched = time.monotonic_ns()
        options = {"memory_format": torch.channels_last} if self.case == "healthy" else {}
        pictures = pictures.to(DEVICE, non_blocking=True, **options)
        labels = labels.to(DEVICE, non_blocking=True)
        copied = time.monotonic_ns()
        if self.graph:
            self.graph.replay()
        else:
            self.compute(pictures, labels)
        self.begins.append(begin)
        self.waited += fetched - begin
        self.copied += copied - fetched

    def warm_up(self):
        for _ in range(WARM_UP):
            self.step()
        synchronize()
        if self.case == "launch_bound" and self.fixed and DEVICE.type == "cuda":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.compute(*self.batches.batch)
            self.graph = graph

    def run(self, seconds, by_turns=False):
        self.warm_up()
        turns = Turns() if by_turns else None
        self.begins, self.waited, self.copied = [], 0, 0
        begin = time.monotonic_ns()
        profiler = None
        while (now := time.monotonic_ns() - begin) < seconds * 1e9:
            if self.case == "profiled" and profiler is None and now > seconds * 0.4e9:
                profiler = torch.profiler.profile()
                profiler.__enter__()
            elif profiler and now > seconds * 0.6e9:
                profiler.__exit__(None, None, None)
                profiler = False
            self.step()
            if turns:
                turns.between_steps()
        synchronize()
        wall, steps = time.monotonic_ns() - begin, len(self.begins)
        between = [b - a for a, b in zip(self.begins, self.begins[1:])] or [wall]
        return {"case": self.case, "fixed": self.fixed, "steps": steps, "seconds": wall / 1e9, "begin": begin,
                "step_ms": wall / 1e6 / steps, "median_ms": statistics.median(between) / 1e6,
                "wait_ratio": self.waited / wall, "copy_ratio": self.copied / wall, "begins": list(self.begins),
                "without": turns.end() if turns else []}


def attempt(case, fixed, seconds):
    try:
        return Training(case, fixed).run(seconds)
    except RuntimeError as error:  # one that fails leaves the others
        return {"case": case, "fixed": fixed, "error": str(error)}


def between_events(training, steps=10):
    """Milliseconds of a step by CUDA events, the device without other work before and after."""
    times = []
    for _ in range(steps):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        synchronize()
        begin.record()
        training.step()
        end.record()
        synchronize()
        times.append(begin.elapsed_time(end))
    return {"event_ms": statistics.median(times)}


def union(intervals):
    total, reached = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def kernels(training, steps, trace):
    """Kernel, copy and busy time and launches of a step, by torch.profiler; its own Chrome trace in `trace`."""
    from torch.profiler import ProfilerActivity, profile, record_function
    synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as result:
        for number in range(steps):
            with record_function(f"ProfilerStep#{number}"):
                training.step()
        synchronize()
    if trace:
        result.export_chrome_trace(trace)
    rows = [e for e in result.events() if e.device_type == torch.autograd.DeviceType.CUDA
            and not e.name.startswith(("ProfilerStep", "Optimizer.", "## Call CompiledFxGraph"))]
    kernel = [e for e in rows if not e.name.startswith(("Memcpy", "Memset"))]
    copies = [e for e in rows if e.name.startswith("Memcpy")]
    by_name = {}
    for e in kernel:
        by_name[e.name[:120]] = by_name.get(e.name[:120], 0) + e.device_time / 1e3 / steps
    largest = dict(sorted(by_name.items(), key=lambda item: -item[1])[:5])
    return {"kernel_ms": sum(e.device_time for e in kernel) / 1e3 / steps, "kernels": len(kernel) / steps,
            "copy_ms": sum(e.device_time for e in copies) / 1e3 / steps, "copies": len(copies) / steps,
            "busy_ms": union((e.time_range.start, e.time_range.end) for e in rows) / 1e3 / steps,
            "largest": largest}


def write(path, log):
    log = {"torch": torch.__version__, "cuda": torch.version.cuda, **log}
    if path == "-":
        print(json.dumps(log))
        return
    with open(path, "w") as out:
        json.dump(log, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("case")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--log", default="-")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--trace")
    parser.add_argument("--meet")
    parser.add_argument("--place", default="0/1")
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.case == "cost":
        rota, log = Rota(options.meet, options.place), {}
        for case in COST:
            log[case] = rota.run(case)
            write(options.log, log)
    elif options.case == "turns":
        log = {case: Training(case).run(options.seconds, True) for case in COST}
    elif options.case == "ablation":
        log = {case: [attempt(case, fixed, options.seconds) for fixed in (False, True)] for case in FAULTS}
    else:
        training = Training(options.case)
        log = training.run(options.seconds)
        if options.kernels and DEVICE.type == "cuda":
            log.update(between_events(training))
            log.update(kernels(training, min(100, max(8, int(1000 / log["median_ms"]))), options.trace))
    write(options.log, log)
    return 0


if __name__ == "__main__":
    sys.exit(main())
