#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes code at run time and runs it: a loop in an anonymous mapping, named for profilers.

usage: jit_program.py map|dump|none CPU_SECONDS

map: in /tmp/perf-PID.map; dump: in a jitdump in the working directory, of which a page is mapped for
execution, as its writers do."""
import ctypes
import mmap
import os
import struct
import sys
import time

LOOP = bytes.fromhex("b900e1f505" "ffc9" "75fc" "c3")  # mov ecx, 100000000; dec ecx; jnz; ret
RIGHTS = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC


def write_map(at):
    path = f"/tmp/perf-{os.getpid()}.map"
    with open(path, "w") as out:
        out.write(f"{at:x} {len(LOOP):x} jit_made_by_map\n")
    return path


def write_dump(at):
    pid, name = os.getpid(), b"jit_made_by_dump\0"
    path = f"jit-{pid}.dump"
    with open(path, "w+b") as out:
        out.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, time.monotonic_ns(), 0))
        out.write(struct.pack("<IIQ", 0, 16 + 40 + len(name) + len(LOOP), time.monotonic_ns()))
        out.write(struct.pack("<IIQQQQ", pid, pid, at, at, len(LOOP), 1) + name + LOOP)
        out.flush()
        marker = mmap.mmap(out.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    return path, marker


def main():
    how, seconds = sys.argv[1], float(sys.argv[2])
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, RIGHTS)
    page.write(LOOP)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    kept = {"map": write_map, "dump": write_dump, "none": lambda _: None}[how](at)
    loop = ctypes.CFUNCTYPE(None)(at)
    while time.process_time() < seconds:
        loop()
    if how == "map":
        os.unlink(kept)  # a report made later must not need it


if __name__ == "__main__":
    main()
