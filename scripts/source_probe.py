#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times named statements of a Python program, without stallprof: what scripts/validate_public compares with.

usage: source_probe.py OUT.json RULES.json PROGRAM [ARGUMENT ...]

RULES: a list of {"file", "text": how a statement begins, "as": "data" | "periodic" | "step", "of": name of
the function that it stands in, optional}; a file with a slash is the end of an imported module's path, any
other is PROGRAM. Their source is changed in memory before it is compiled: a `for` gets its iterator timed
(data), a `def` its body, any other statement itself. Timers within each other count once, for the
outermost; one thread, the main one, and no forked process. The end of a step's statement is that step's end.

OUT: {"steps", "window_s", "share": {"data", "periodic", "compute"}, "loop_s", "loop_share", "run_s"}: shares
of the window as stallprof defines it (after the first 10 steps or 5 s, at most 30 % of the steps; to the end
of the last step), and of the whole loop, from its first fetch to the last step's end. Compute is what
remains."""

import ast
import atexit
import builtins
import gc
import importlib.machinery
import json
import os
import pathlib
import sys
import threading
import time
import types

NAME = "__source_probe__"


class Probe:
    """Intervals of the main thread's outermost timers, and the ends of steps."""

    def __init__(self, out):
        self.out, self.process, self.thread = out, os.getpid(), threading.get_ident()
        self.began, self.depth, self.intervals, self.ends = time.perf_counter(), 0, [], []
        self.collecting = None
        gc.callbacks.append(self.collect)

    def __call__(self, phase):
        return Timer(self, phase)

    def collect(self, at, _):
        """Garbage collection is periodic, too: Python says when it begins and ends."""
        if at == "start":
            outermost = self.depth == 0 and threading.get_ident() == self.thread
            self.collecting = time.perf_counter() if outermost else None
        elif self.collecting:
            self.intervals.append(("periodic", self.collecting, time.perf_counter()))

    def iterate(self, iterable, phase):
        iterator = None
        while True:
            with Timer(self, phase):
                # The loader starts its workers here: that is part of the first wait.
                iterator = iter(iterable) if iterator is None else iterator
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def share(self, begin, end):
        share = {"data": 0.0, "periodic": 0.0}
        for phase, a, b in self.intervals:
            share[phase] += max(0.0, min(b, end) - max(a, begin)) / (end - begin)
        share["compute"] = 1 - sum(share.values())
        return share

    def write(self):
        if os.getpid() != self.process or len(self.ends) < 2:
            return
        ends = self.ends
        warm = max(10, sum(end - self.first() < 5 for end in ends))
        begin = ends[min(warm, int(0.3 * len(ends))) - 1] if len(ends) > 3 else ends[0]
        pathlib.Path(self.out).write_text(json.dumps({
            "steps": len(ends), "window_s": ends[-1] - begin, "share": self.share(begin, ends[-1]),
            "loop_s": ends[-1] - self.first(), "loop_share": self.share(self.first(), ends[-1]),
            "run_s": time.perf_counter() - self.began}))

    def first(self):
        """Where the loop began: the first timed fetch, or the first step's end."""
        return min([self.ends[0], *(a for phase, a, _ in self.intervals if phase == "data")])


class Timer:
    def __init__(self, probe, phase):
        self.probe, self.phase = probe, phase

    def __enter__(self):
        probe = self.probe
        self.counts = threading.get_ident() == probe.thread and os.getpid() == probe.process
        self.outermost = self.counts and (probe.depth == 0 or self.phase == "step")
        probe.depth += self.counts and self.phase != "step"
        self.began = time.perf_counter()

    def __exit__(self, kind, value, trace):
        probe, now = self.probe, time.perf_counter()
        probe.depth -= self.counts and self.phase != "step"
        if self.outermost and self.phase == "step":
            probe.ends.append(now)
        elif self.outermost:
            probe.intervals.append((self.phase, self.began, now))


def call(attribute, *arguments):
    function = ast.Name(NAME, ast.Load())
    if attribute:
        function = ast.Attribute(function, attribute, ast.Load())
    return ast.Call(function, list(arguments), [])


class Instrument(ast.NodeTransformer):
    def __init__(self, source, rules):
        self.lines, self.rules, self.functions, self.used = source.splitlines(), rules, [], set()

    def rule(self, node):
        line = self.lines[node.lineno - 1][node.col_offset:]
        for i, rule in enumerate(self.rules):
            if line.startswith(rule["text"]) and rule.get("of", "") in ("", *self.functions[-1:]):
                self.used.add(i)
                return rule["as"]
        return None

    def timed(self, phase, body):
        return ast.With([ast.withitem(call(None, ast.Constant(phase)))], body)

    def visit(self, node):
        if not isinstance(node, ast.stmt):
            return node
        phase = self.rule(node)
        inner = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if inner:
            self.functions.append(node.name)
        self.generic_visit(node)
        if inner:
            self.functions.pop()
        if phase is None:
            return node
        if isinstance(node, ast.For) and phase == "data":  # its body is not data
            node.iter = call("iterate", node.iter, ast.Constant(phase))
            return node
        if inner:
            node.body = [self.timed(phase, node.body)]
            return node
        return ast.copy_location(self.timed(phase, [node]), node)

    def generic_visit(self, node):
        # Statements and what holds them; expressions stay as they are.
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], (ast.stmt, ast.ExceptHandler)):
                value[:] = [self.visit(v) if isinstance(v, ast.stmt) else self.generic_visit(v) for v in value]
        return node


def instrumented(source, path, own):
    change = Instrument(source, own)
    tree = ast.fix_missing_locations(change.generic_visit(ast.parse(source, str(path))))
    for i, rule in enumerate(own):
        if i not in change.used:
            raise SystemExit(f"{path}: no statement begins with {rule['text']!r}")
    return compile(tree, str(path), "exec", dont_inherit=True)


def of_module(path, rules):
    return [rule for rule in rules if "/" in rule["file"] and path.endswith(rule["file"])]


def watch_imports(rules):
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, name):
        path = loader.get_filename(name)
        own = of_module(path, rules)
        return instrumented(loader.get_source(name), path, own) if own else original(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code


def main():
    out, rules, program = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), sys.argv[3]
    probe = Probe(out)
    setattr(builtins, NAME, probe)
    watch_imports(rules)
    sys.argv = sys.argv[3:]
    sys.path[0] = str(pathlib.Path(program).resolve().parent)
    module = types.ModuleType("__main__")
    module.__file__, module.__builtins__ = program, builtins
    sys.modules["__main__"] = module
    atexit.register(probe.write)
    own = [rule for rule in rules if "/" not in rule["file"]]
    exec(instrumented(pathlib.Path(program).read_text(), program, own), module.__dict__)


if __name__ == "__main__":
    main()
