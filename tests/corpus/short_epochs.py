# SPDX-License-Identifier: MIT
"""Short epochs whose workers are started again for each."""
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "restart": ("load", ["load.worker_startup"], ["persistent_workers"]),
    "workers": ("load", ["load.ipc", "load.worker_startup"], ["fewer_workers"]),
    "samples": ("transform", ["transform.cpu_saturated", "transform.too_few_workers"]),
}
BATCHES = level(80, 16, 3)


def main():
    count = 32 * BATCHES

    def sample(index):
        return torch.randn(512, generator=torch.Generator().manual_seed(index)), index % 10

    workers = {"num_workers": 2, "persistent_workers": not has("restart")} if has("workers") else {}
    train(loader_of(count, sample if has("samples") else made_before(count, sample), epoch=BATCHES, **workers),
          perceptron(512, 360))


if __name__ == "__main__":
    main()
