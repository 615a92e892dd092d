# SPDX-License-Identifier: MIT
"""Samples at random places of a file that the page cache does not keep, read in the training process."""
import os
import tempfile

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {"cold": ("extract", ["extract.random_access", "extract.storage_bandwidth", "extract.cold_cache", "transform.in_process"])}
COUNT, BYTES, PARTS = 1024, 65536, level(1, 4, 16)


def main():
    with tempfile.NamedTemporaryFile(dir=os.environ.get("CORPUS_DISK", "/var/tmp")) as file:
        for _ in range(COUNT):
            file.write(numpy.random.default_rng(1).bytes(BYTES))
        file.flush()
        os.fsync(file.fileno())
        if has("cold"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

        def sample(index):
            for part in range(PARTS):
                place = (index * 7 + part * 131) % COUNT * BYTES
                values = os.pread(file.fileno(), 4096, place)
                if has("cold"):
                    os.posix_fadvise(file.fileno(), place, 4096, os.POSIX_FADV_DONTNEED)
            return torch.from_numpy(numpy.frombuffer(values, "u1").astype("f4") / 255), index % 10

        train(loader_of(COUNT, sample, 16, shuffle=True), perceptron(4096, 200))


if __name__ == "__main__":
    main()
