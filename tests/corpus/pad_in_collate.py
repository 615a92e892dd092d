# SPDX-License-Identifier: MIT
"""Lists of tokens sorted, varied, weighted, cut and padded in Python by the collate function of a DataLoader."""
import random

import torch
from torch.utils.data import DataLoader

from corpus import OwnClock, batches, has, level
from corpus_torch import learn_from, perceptron

CAUSES = {
    "collate": ("transform", ["transform.in_process", "transform.slow_op"]),
    "no_workers": ("transform", ["transform.in_process"], ["more_workers"]),
}
VOCABULARY, BATCH, LONGEST, PAD = 2000, 32, 400, 0


class Tagger(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = torch.nn.EmbeddingBag(VOCABULARY, 32, mode="sum", padding_idx=PAD)
        self.layers = perceptron(32, width)

    def forward(self, tokens, weights):
        return self.layers(self.embedding(tokens, per_sample_weights=weights / weights.sum(1, keepdim=True)))


def collate(samples):
    samples.sort(key=lambda sample: len(sample[0]), reverse=True)
    longest, rows, weights = min(len(samples[0][0]), LONGEST), [], []
    for tokens, _ in samples:
        row, weight = [], []
        for token in tokens:
            changed = random.random() < 0.1
            row.append(random.randrange(1, VOCABULARY) if changed else token)
            weight.append(0.5 if changed else 1.0)
        rows.append((row + [PAD] * (longest - len(row)))[:longest])
        weights.append((weight + [0.0] * (longest - len(weight)))[:longest])
    return torch.tensor(rows), torch.tensor(weights), torch.tensor([label for _, label in samples])


def main():
    random.seed(1)
    most = level(135, 470, 3000)
    texts = [([random.randrange(1, VOCABULARY) for _ in range(random.randint(most // 3, most))], i % 10)
             for i in range(640)]
    workers = {"num_workers": 0} if has("no_workers") else {"num_workers": 1, "persistent_workers": True}
    if has("collate"):
        loader = DataLoader(texts, BATCH, shuffle=True, collate_fn=collate, **workers)
    else:
        loader = DataLoader(list(DataLoader(texts, BATCH, collate_fn=collate)), batch_size=None, **workers)
    model = Tagger(level(320, 270, 200))
    optimizer, clock = torch.optim.SGD(model.parameters(), 0.05), OwnClock()
    for tokens, weights, labels in batches(clock, loader):
        learn_from(torch.nn.functional.cross_entropy(model(tokens, weights), labels), optimizer)
    clock.print()


if __name__ == "__main__":
    main()
