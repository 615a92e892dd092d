# SPDX-License-Identifier: MIT
"""The timers a careful person puts into a training loop: how long the loop waits for data and how
long it computes. The demo programs print theirs at the end, so a report can be compared with them.
"""
import json
import time


class Stopwatch:
    """`for batch in watch.batches(loader)`: a step lasts from one fetch to the next."""

    def __init__(self):
        self.started = time.monotonic()
        self.steps = []   # [fetch begin, fetch end, step end]
        self.gaps = []    # [begin, end] of iter(), and of the next() that found the epoch at its end
        self.extra = {}   # name -> [[begin, end], ...]: checkpoints, evaluation

    def batches(self, loader):
        begin = time.monotonic()
        iterator = iter(loader)
        self.gaps.append([begin, time.monotonic()])
        while True:
            begin = time.monotonic()
            try:
                batch = next(iterator)
            except StopIteration:
                self.gaps.append([begin, time.monotonic()])
                return
            self.steps.append([begin, time.monotonic(), None])
            yield batch
            self.steps[-1][2] = time.monotonic()

    def during(self, name):
        return _Span(self.extra.setdefault(name, []))

    def first_of_window(self):
        """After 10 steps or 5 s, whichever is longer, at most 30 % of the steps."""
        first = 10
        while first < len(self.steps) and self.steps[first][0] - self.steps[0][0] < 5:
            first += 1
        return min(first, int(len(self.steps) * 0.3))

    def summary(self):
        first = self.first_of_window()
        begin, end = self.steps[first][0], self.steps[-1][2]
        window = self.steps[first:]
        total = end - begin
        wait = sum(b - a for a, b, _ in window)
        extra = {name: sum(overlap(s, begin, end) for s in spans)
                 for name, spans in self.extra.items()}
        within = sum(overlap(s, a, b) for spans in self.extra.values() for s in spans
                     for _, a, b in window)
        gaps = sum(overlap(s, begin, end) for s in self.gaps)
        compute = sum(c - b for _, b, c in window) - within
        ratio = {'data_wait': wait, 'epoch_gap': gaps, 'compute': compute, **extra}
        ratio['other'] = total - sum(ratio.values())
        return {'steps': len(self.steps), 'window_steps': len(window), 'window_s': total,
                'wall_s': time.monotonic() - self.started,
                'ratio': {name: value / total for name, value in ratio.items()}}

    def print(self):
        print(json.dumps(self.summary()), flush=True)


class _Span:
    def __init__(self, spans):
        self.spans = spans

    def __enter__(self):
        self.begin = time.monotonic()

    def __exit__(self, *error):
        self.spans.append([self.begin, time.monotonic()])


def overlap(span, begin, end):
    return max(0.0, min(span[1], end) - max(span[0], begin))
