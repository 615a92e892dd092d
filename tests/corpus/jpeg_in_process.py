# SPDX-License-Identifier: MIT
"""JPEG images decoded and resized by Pillow in the training process; a checkpoint now and then."""
import io
import tempfile

import numpy
import torch
from PIL import Image

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "decode": ("transform", ["transform.in_process", "transform.slow_op"]),
    "in_process": ("transform", ["transform.in_process"], ["more_workers"]),
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
}
COUNT = 256


def image(random, side):
    smooth = Image.fromarray(random.integers(0, 255, (8, 8, 3), dtype="u1")).resize((side, side))
    file = io.BytesIO()
    smooth.save(file, "JPEG", quality=90)
    return file.getvalue()


def main():
    random = numpy.random.default_rng(1)
    files = [image(random, level(36, 100, 280)) for _ in range(COUNT)]

    def sample(index):
        pixels = Image.open(io.BytesIO(files[index])).convert("RGB").resize((16, 16))
        return torch.from_numpy(numpy.asarray(pixels, "f4").ravel() / 255), index % 10

    def between(step, model, clock):
        if has("checkpoint") and step % 40 == 39:
            with clock.during("periodic"), tempfile.TemporaryFile() as file:
                torch.save(model.state_dict(), file)

    train(loader_of(COUNT, sample if has("decode") else made_before(COUNT, sample),
                    num_workers=0 if has("in_process") else 1), perceptron(16 * 16 * 3, level(500, 360, 300)), between)


if __name__ == "__main__":
    main()
