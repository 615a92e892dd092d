# SPDX-License-Identifier: MIT
"""Protein sequences of different lengths, encoded and padded by a collate function in Python, one worker."""
import random

import torch
from torch.utils.data import DataLoader, Dataset

from own_clock import OwnClock

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
CODES = {residue: i + 1 for i, residue in enumerate(RESIDUES)}
HYDROPATHY = dict(zip(RESIDUES, (1.8, 2.5, -3.5, -3.5, 2.8, -0.4, -3.2, 4.5, -3.9, 3.8,
                                 1.9, -3.5, -1.6, -3.5, -4.5, -0.8, -0.7, 4.2, -0.9, -1.3)))


class Proteins(Dataset):
    def __init__(self, count):
        dice = random.Random(1)
        self.rows = [("".join(dice.choices(RESIDUES, k=dice.randint(100, 400))), i % 4) for i in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def collate(rows):
    longest = max(len(sequence) for sequence, _ in rows)
    codes, water = [], []
    for sequence, _ in rows:
        pad = longest - len(sequence)
        codes.append([CODES[residue] for residue in sequence] + [0] * pad)
        around = [sum(HYDROPATHY[r] for r in sequence[max(0, i - 7):i + 8]) / 15 for i in range(len(sequence))]
        water.append(around + [0.0] * pad)
    return torch.tensor(codes), torch.tensor(water), torch.tensor([label for _, label in rows])


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.EmbeddingBag(len(RESIDUES) + 1, 63, padding_idx=0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4))

    def forward(self, codes, water):
        return self.layers(torch.cat([self.embedding(codes), water.mean(1, keepdim=True)], 1))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loader = DataLoader(Proteins(1920), batch_size=32, shuffle=True, num_workers=1, collate_fn=collate,
                        persistent_workers=True)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters())
    clock = OwnClock()
    for _ in range(15):
        for codes, water, labels in clock.batches(loader):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(codes, water), labels).backward()
            optimizer.step()
    clock.print()


if __name__ == "__main__":
    main()
