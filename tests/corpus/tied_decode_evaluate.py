# SPDX-License-Identifier: MIT
"""A control: decompressing in the training process and evaluation cost about the same."""
import zlib

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "decompress": ("transform", ["transform.in_process", "transform.slow_op"]),
    "evaluation": ("periodic", ["periodic.evaluation"]),
}
COUNT, FEATURES = 256, 512


def main():
    random = numpy.random.default_rng(1)
    packed = [zlib.compress(random.integers(0, 30, FEATURES * 20, dtype="i2").tobytes(), 1) for _ in range(level(4, 12, 40))]
    held_out = torch.randn(level(120, 360, 1200), FEATURES)

    def sample(index):
        blocks = packed[:len(packed) // 4] if index % 4 else packed[len(packed) // 4:]
        values = sum(numpy.frombuffer(zlib.decompress(block), "i2")[:FEATURES].astype("f4") for block in blocks)
        return torch.from_numpy(values), index % 10

    def between(step, model, clock):
        if has("evaluation") and step % 8 == 7:
            with clock.during("periodic"), torch.no_grad():
                model.eval()
                [model(part).argmax(1) for part in held_out.split(32)]
                model.train()

    train(loader_of(COUNT, sample if has("decompress") else made_before(COUNT, sample)), perceptron(FEATURES, 360), between)


if __name__ == "__main__":
    main()
