# SPDX-License-Identifier: MIT
"""What a training program says of itself, by timers that anyone might put into it: how many steps it
took, and how much of its training loop went to data and to overheads. The rest is computing."""
import contextlib
import json
import sys
import time

WITHOUT = "--without" in sys.argv   # the program without what holds it back: for its gain
# Of a program with a loader: without which of its possible causes (loader_causes.py).
CAUSE = sys.argv[sys.argv.index("--without-cause") + 1] if "--without-cause" in sys.argv else None


class OwnClock:
    """A step begins where its batch is asked for. `knows`: what of its time the program can see; where
    a framework's loop fetches or evaluates, it may not."""

    def __init__(self, knows=("data", "periodic")):
        self.knows = knows
        self.begins = []   # of steps
        self.spans = []    # (name, begin, end), none inside another
        self.end = None    # of the last step
        self.inside = False

    def batches(self, loader):
        """Goes through a loader: what a loop waits for it is `data`, each batch a step."""
        if CAUSE:
            import loader_causes
            loader = loader_causes.without(CAUSE, loader)
        with self.during("data"):
            iterator = iter(loader)
        while True:
            begin = time.monotonic()
            try:
                batch = next(iterator)
            except StopIteration:
                self.end = begin
                with self.during("data"):   # what goes with it may be threads to be waited for
                    del iterator
                return
            finally:
                self.spans.append(("data", begin, time.monotonic()))
            self.begins.append(begin)
            yield batch

    def steps(self, seconds=20):
        """Numbers of steps, for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.step()
            yield len(self.begins) - 1
        self.stop()

    def step(self):
        self.begins.append(time.monotonic())

    def stop(self):
        self.end = time.monotonic()

    @contextlib.contextmanager
    def during(self, name):
        if self.inside:
            yield
            return
        begin, self.inside = time.monotonic(), True
        try:
            yield
        finally:
            self.inside = False
            self.spans.append((name, begin, time.monotonic()))

    def print(self):
        """Shares of the steps after the warm-up: 10 steps or 5 s, whichever is longer, at most 30 %."""
        until = self.begins[0] + 5
        warm = min(max(10, sum(begin < until for begin in self.begins)), len(self.begins) * 3 // 10)
        first, last = self.begins[warm], self.end
        share = dict.fromkeys(self.knows, 0.0)
        for name, begin, end in self.spans:
            share[name] += max(0.0, min(end, last) - max(begin, first)) / (last - first)
        if len(share) == 2:
            share["compute"] = 1 - sum(share.values())
        print(json.dumps({"steps": len(self.begins), "timed": len(self.begins) - warm, "seconds": last - first,
                          "share": share}), flush=True)
