# SPDX-License-Identifier: MIT
"""A checkpoint of model, optimizer and a buffer of samples every few steps, synchronised to disk."""
import os
import pathlib
import tempfile

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
    "norms": ("compute periodic", ["compute.after_update", "periodic.logging", "compute.python_overhead", "compute.small_ops"]),
}


def main():
    model = perceptron(512, 360)
    optimizer = torch.optim.Adam(model.parameters())
    samples = torch.randn(1000, 1024)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "last.pt"

        def between(step, model, clock):
            if has("checkpoint") and step % level(12, 4, 1) == 0:
                with clock.during("periodic"), open(path, "wb") as file:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "samples": samples}, file)
                    file.flush()
                    os.fsync(file.fileno())
            if has("norms") and step % 10 == 0:
                [p.grad.norm().item() for p in model.parameters()]

        train_on_random(model, 512, between, optimizer=optimizer)


if __name__ == "__main__":
    main()
