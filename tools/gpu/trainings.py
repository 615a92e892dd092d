#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings on a GPU, each with one thing wrong (or nothing), that time themselves. They know nothing
of stallprof: what they log is what its reports are compared with.

  trainings.py slow_loader --seconds 6      ResNet-18 behind one worker that cannot keep up
  trainings.py device_bound                 the same network with batches always ready
  trainings.py launch_bound                 a deep, narrow network whose kernels are shorter than their launches
  trainings.py pageable_copy                big batches copied from pageable memory, every step
  trainings.py item_loop                    the loss is read back many times a step
  trainings.py graphs                       torch.compile with CUDA graphs
  trainings.py profiled                     device_bound, with torch.profiler on for an interval of steps

The log is one JSON object: steps, seconds, wait and copy shares by the program's own clock; with --kernels
the kernel time of a step and its launches as torch.profiler counts them over 20 steps at the end. Without
a GPU they run on the CPU, which shows that they run and nothing else."""
import argparse
import json
import sys
import time

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


WARM_UP = 20  # steps: cuDNN chooses its algorithms, torch.compile compiles


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


def resnet():
    return torchvision.models.resnet18(num_classes=10).to(DEVICE)


def narrow(depth=120, width=64):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10)).to(DEVICE)


class Fixed:
    """The same batch on the device for ever: no loader."""

    def __init__(self, *shape):
        self.batch = torch.randn(*shape, device=DEVICE), torch.randint(10, (shape[0],), device=DEVICE)

    def __iter__(self):
        while True:
            yield self.batch


def loader(milliseconds, workers, batch=64, side=128, pin=True):
    return DataLoader(Photos(100_000, side, milliseconds), batch_size=batch, num_workers=workers,
                      pin_memory=pin and DEVICE.type == "cuda", persistent_workers=workers > 0)


class Pageable:
    """Large batches in ordinary memory."""

    def __init__(self, batch=256, side=224):
        self.batch = torch.randn(batch, 3, side, side), torch.randint(10, (batch,))

    def __iter__(self):
        while True:
            yield self.batch


def settings(case):
    """(batches, model, non_blocking, what follows the backward pass)"""
    if case == "slow_loader":
        return loader(2.0, 1), resnet(), True
    if case in ("device_bound", "profiled"):
        return Fixed(256, 3, 128, 128), resnet(), True
    if case == "launch_bound":
        return Fixed(8, 64), narrow(), True
    if case == "pageable_copy":
        return Pageable(), nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3 * 28 * 28, 10)).to(DEVICE), False
    if case == "item_loop":
        return Fixed(32, 64), narrow(24, 64), True
    if case == "graphs":
        return Fixed(64, 256), torch.compile(narrow(24, 256), mode="reduce-overhead"), True
    raise SystemExit(f"trainings.py: no case {case}")


def synchronize():
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


class Training:
    def __init__(self, case):
        self.case = case
        self.batches, self.model, self.non_blocking = settings(case)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.steps, self.waited, self.copied = 0, 0, 0

    def step(self, source):
        begin = time.monotonic_ns()
        pictures, labels = next(source)
        fetched = time.monotonic_ns()
        pictures = pictures.to(DEVICE, non_blocking=self.non_blocking)
        labels = labels.to(DEVICE, non_blocking=self.non_blocking)
        copied = time.monotonic_ns()
        loss = nn.functional.cross_entropy(self.model(pictures), labels)
        if self.case == "item_loop":
            for _ in range(20):
                if (loss * 2).item() < 0:
                    raise SystemExit("a negative loss")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.waited += fetched - begin
        self.copied += copied - fetched

    def run(self, seconds):
        source = iter(self.batches)
        for _ in range(WARM_UP):
            self.step(source)
        synchronize()
        self.steps = self.waited = self.copied = 0
        begin = time.monotonic_ns()
        profiler = None
        while (now := time.monotonic_ns() - begin) < seconds * 1e9:
            if self.case == "profiled" and profiler is None and now > seconds * 0.4e9:
                profiler = torch.profiler.profile()
                profiler.__enter__()
            elif profiler and now > seconds * 0.6e9:
                profiler.__exit__(None, None, None)
                profiler = False
            self.step(source)
        synchronize()
        wall = time.monotonic_ns() - begin
        return source, {"case": self.case, "steps": self.steps, "seconds": wall / 1e9, "begin": begin,
                        "step_ms": wall / 1e6 / self.steps, "wait_ratio": self.waited / wall,
                        "copy_ratio": self.copied / wall}


def kernels(training, source, steps=20):
    """Kernel time and launches of a step, by torch.profiler."""
    from torch.profiler import ProfilerActivity, profile
    synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as result:
        for _ in range(steps):
            training.step(source)
        synchronize()
    rows = [e for e in result.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    kernel = [e for e in rows if not e.name.startswith(("Memcpy", "Memset"))]
    return {"kernel_ms": sum(e.device_time for e in kernel) / 1e3 / steps, "kernels": len(kernel) / steps,
            "device_ms": sum(e.device_time for e in rows) / 1e3 / steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("case")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--log", default="-")
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    training = Training(options.case)
    source, log = training.run(options.seconds)
    if options.kernels:
        log.update(kernels(training, source))
    text = json.dumps(log)
    if options.log == "-":
        print(text)
    else:
        with open(options.log, "w") as out:
            out.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
