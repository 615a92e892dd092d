#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a training program with every step of its SGD dearer by so much CPU time, as a change for
the worse would make it: dearer_steps.py MILLISECONDS PROGRAM [ARG...]"""
import os
import runpy
import sys
import time

import torch


def main():
    extra, program = float(sys.argv[1]) / 1e3, sys.argv[2]
    plain = torch.optim.SGD.step

    def step(self, *words, **names):
        loss = plain(self, *words, **names)
        end = time.thread_time() + extra
        while time.thread_time() < end:
            pass
        return loss

    torch.optim.SGD.step = step
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name='__main__')


if __name__ == '__main__':
    main()
