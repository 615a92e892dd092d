# SPDX-License-Identifier: MIT
"""A sample is a few files of two kilobytes each, opened and read one after the other in the training process."""
import pathlib
import tempfile

import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "files": ("extract", ["extract.small_files"]),
    "in_process": ("extract transform", ["transform.in_process"], ["more_workers"]),
}
COUNT, PARTS = 256, level(2, 8, 42)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for index in range(COUNT):
            (folder / str(index)).mkdir()
            for part in range(PARTS):
                (folder / str(index) / f"{part}.f4").write_bytes(torch.randn(512).numpy().tobytes())

        def sample(index):
            files = sorted((folder / str(index)).iterdir())
            parts = [torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.float32) for file in files]
            return torch.stack(parts).mean(0), index % 10

        train(loader_of(COUNT, sample if has("files") else made_before(COUNT, sample),
                        num_workers=0 if has("in_process") else 1), perceptron(512))


if __name__ == "__main__":
    main()
