# SPDX-License-Identifier: MIT
"""A training loop in plain Python that announces its steps and phases by NVTX, with its own clock
beside: prints what nvtx_trainer.cpp prints. NVTX is PyPI's `nvtx`, or the object NVTX_SHIM names."""
import contextlib
import ctypes
import os
import sys
import time

if 'NVTX_SHIM' in os.environ:
    SHIM = ctypes.CDLL(os.environ['NVTX_SHIM'])

    @contextlib.contextmanager
    def annotate(name):
        SHIM.push(name.encode())
        try:
            yield
        finally:
            SHIM.pop()
else:
    from nvtx import annotate

now = time.monotonic_ns


def spin(ns):
    until = now() + ns
    while now() < until:
        pass


def phase(name, work, *what):
    begin = now()
    with annotate(name):
        work(*what)
    return now() - begin


def main():
    steps = int(sys.argv[1])
    own = sys.argv[2:] == ['own']
    for i in range(steps):
        begin = now()
        with annotate(('iteration %d' if own else 'step %d') % i):
            extract = phase('read' if own else 'extract', time.sleep, 0.003)
            transform = phase('augment' if own else 'transform', spin, 2000000)
            compute = phase('forward_layer1' if own else 'compute', spin, 4000000)
            compute += phase('forward_layer2' if own else 'compute', spin, 1000000)
        print('step %d %d extract=%d transform=%d compute=%d' % (begin, now(), extract, transform,
                                                                 compute))


main()
