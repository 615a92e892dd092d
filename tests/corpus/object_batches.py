# SPDX-License-Identifier: MIT
"""A worker that sends each batch as a list of dictionaries of small tensors, put together by the training process."""
import torch

import corpus_torch
from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {"objects": ("load", ["load.ipc"], ["tensors_once"])}
COUNT, FIELDS, ROWS = 512, level(1, 2, 6), 32


def record(index):
    return {f"field{i}": torch.full((512 // FIELDS,), index / COUNT) for i in range(FIELDS)}


def stacked(records):
    return torch.stack([torch.cat(list(fields.values())) for fields in records])


def main():
    def learn(model, batch):
        inputs = stacked(batch) if isinstance(batch, list) else batch
        return torch.nn.functional.cross_entropy(model(inputs), torch.arange(len(inputs)) % 10)

    loader = loader_of(COUNT, record, ROWS, num_workers=1, collate_fn=(lambda records: records) if has("objects") else stacked)
    train(loader, perceptron(512 // FIELDS * FIELDS, 420), learn=learn)


if __name__ == "__main__":
    corpus_torch.torch.multiprocessing.set_sharing_strategy("file_system")
    main()
