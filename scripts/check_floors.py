#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every #include to the floors table of src/README.md, and heavy headers to their one file.

The table is the only place that says what may include what. Exits 1 with one line a breach."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROW = re.compile(r"^\|\s*F\w+\s*\|\s*`(\w+)`\s*\|([^|]*)\|")

# A heavy third-party header lives in these files alone (path prefix -> header pattern).
HEAVY = {
    r"nlohmann/": ("src/recording/manifest.cpp", "src/present/json_values.h",
                   "src/present/report_read.cpp", "src/present/trace_check_json.cpp",
                   "src/trace/kineto_read.cpp", "src/gate/run_read.cpp",
                   "src/gate/output_json.cpp", "tools/", "tests/"),
    r"CLI/": ("tools/",),
    r"spdlog/": ("tools/", "src/launch/log.cpp"),
    r"perfmon/": ("src/sampler/perf.cpp",),
    r"fmt/": ("src/present/", "src/gate/", "src/advise/", "src/analysis/", "tools/"),
    r"toml": ("src/classify/rule_table.cpp", "src/gate/policy.cpp",
             "tools/stallprof/config.cpp"),
}


def floors():
    table = {}
    for line in (ROOT / "src/README.md").read_text().splitlines():
        row = ROW.match(line)
        if row:
            table[row.group(1)] = set(re.findall(r"`(\w+)`", row.group(2)))
    return table


def breaches(path, table):
    relative = path.relative_to(ROOT).as_posix()
    folder = relative.split("/")[1] if relative.startswith("src/") else None
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        header = include.group(2)
        for pattern, homes in HEAVY.items():
            if re.match(pattern, header) and not relative.startswith(homes):
                yield f"{relative}:{number}: {header} belongs in {' '.join(homes)}"
        target = header.split("/")[0]
        if folder and include.group(1) == '"' and target in table and target != folder:
            if target not in table[folder]:
                yield f"{relative}:{number}: {folder} may not include {target}"


def main():
    table = floors()
    folders = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    found = [f"src/README.md: no floor for folder {name}" for name in sorted(folders - set(table))]
    for tree in ("src", "tools", "include"):
        for path in sorted((ROOT / tree).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c"):
                found += breaches(path, table)
    for line in found:
        print("floors: " + line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
