#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every #include against the floors table of src/README.md, that heavy headers stay in their one file, and
that the files which that page names are there.

The table is the only place that says what may include what. Exits 1 with one line a breach."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROW = re.compile(r"^\|\s*F\w+\s*\|\s*`([\w/]+)`\s*\|([^|]*)\|")

# A heavy third-party header lives in these files alone (path prefix -> header pattern).
HEAVY = {
    r"nlohmann/": ("src/recording/manifest.cpp", "src/present/metrics/report_json.cpp",
                   "src/present/metrics/report_schema.cpp",
                   "src/present/timeline/stack_export.cpp",
                   "src/trace/kineto_read.cpp", "src/gate/run_read.cpp",
                   "src/gate/output_json.cpp", "src/experiment/trials_file.cpp", "tools/", "tests/"),
    r"CLI/": ("tools/",),
    r"spdlog/": ("src/launch/setup/log.cpp",),
    r"perfmon/": ("src/sampler/perf/perf.cpp",),
    r"fmt/": ("src/present/", "src/gate/", "src/advise/", "src/analysis/", "src/experiment/",
              "tools/"),
    r"toml": ("src/settings/toml_file.cpp",),
}


def floors():
    table = {}
    for line in (ROOT / "src/README.md").read_text().splitlines():
        row = ROW.match(line)
        if row:
            table[row.group(1)] = set(re.findall(r"`([\w/]+)`", row.group(2)))
    return table


def folder_of(path, table):
    """The longest row of the table that `path` (below src/) lies in, or None."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in table:
        parts.pop()
    return "/".join(parts) or None


def allowed(target, names):
    return any(target == name or target.startswith(name + "/") for name in names)


def breaches(path, table):
    relative = path.relative_to(ROOT).as_posix()
    folder = folder_of(relative[len("src/"):], table) if relative.startswith("src/") else None
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        header = include.group(2)
        for pattern, homes in HEAVY.items():
            if re.match(pattern, header) and not relative.startswith(homes):
                yield f"{relative}:{number}: {header} belongs in {' '.join(homes)}"
        target = folder_of(header, table)
        if folder and include.group(1) == '"' and target and target != folder:
            if not allowed(target, table[folder]):
                yield f"{relative}:{number}: {folder} may not include {target}"


def missing_files():
    """Files named by src/README.md, by their path below src/ or the root, that are not there."""
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:h|cpp|c|py|md|toml|txt))`", (ROOT / "src/README.md").read_text())
    for name in dict.fromkeys(named):
        if not (ROOT / "src" / name).exists() and not (ROOT / name).exists():
            yield f"src/README.md names {name}, which is not there"


def main():
    table = floors()
    found = list(missing_files())
    for path in sorted((ROOT / "src").rglob("*")):
        name = path.relative_to(ROOT / "src").as_posix()
        if path.suffix in (".h", ".cpp", ".c") and path.parent.relative_to(ROOT / "src").as_posix() not in table:
            found.append(f"src/README.md: no floor for the folder of {name}")
    for tree in ("src", "tools", "include"):
        for path in sorted((ROOT / tree).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c"):
                found += breaches(path, table)
    for line in found:
        print("floors: " + line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
