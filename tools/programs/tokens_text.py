# SPDX-License-Identifier: MIT
"""Sentences into tokens by a trained BPE of Hugging Face tokenizers, one worker."""
import os
import random

import tokenizers
import torch
from torch.utils.data import DataLoader, Dataset

from torch_training import train

os.environ["TOKENIZERS_PARALLELISM"] = "false"   # as its documentation asks for beside workers


def sentences(count=3000):
    random.seed(1)
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
    words = ["".join(random.choices(syllables, k=random.randint(2, 6))) for _ in range(2000)]
    return [" ".join(random.choices(words, k=200)) for _ in range(count)]


class Text(Dataset):
    def __init__(self, lines):
        self.lines = lines
        self.bpe = tokenizers.ByteLevelBPETokenizer()
        self.bpe.train_from_iterator(lines[:1000], vocab_size=4000)
        self.bpe.enable_truncation(256)
        self.bpe.enable_padding(length=256)

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return torch.tensor(self.bpe.encode(self.lines[index]).ids), index % 4


def main():
    loader = DataLoader(Text(sentences()), batch_size=20, shuffle=True, num_workers=1, persistent_workers=True)
    model = torch.nn.Sequential(torch.nn.EmbeddingBag(4000, 64), torch.nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    train(loader, model, optimizer, 4)


if __name__ == "__main__":
    main()
