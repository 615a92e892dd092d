# SPDX-License-Identifier: MIT
"""Sentences from an Arrow table of Hugging Face datasets, encoded on the fly, one worker."""
import random
import tempfile

import datasets
import torch
from torch.utils.data import DataLoader

from own_clock import OwnClock

WORDS = [f"word{i}" for i in range(500)]
CODES = {word: i + 1 for i, word in enumerate(WORDS)}


def sentences():
    random.seed(1)
    for i in range(4000):
        yield {"text": " ".join(random.choices(WORDS, k=60)), "label": i % 4}


def encode(rows):
    codes = [[CODES[w] for w in text.lower().split()] for text in rows["text"]]
    return {"codes": torch.tensor(codes), "label": torch.tensor(rows["label"])}


def main():
    with tempfile.TemporaryDirectory() as folder:
        table = datasets.Dataset.from_generator(sentences, cache_dir=folder).filter(lambda row: row["label"] < 3)
        table.set_transform(encode)
        loader = DataLoader(table, batch_size=50, shuffle=True, num_workers=1)
        model = torch.nn.Sequential(torch.nn.EmbeddingBag(501, 64), torch.nn.Linear(64, 128), torch.nn.ReLU(),
                                    torch.nn.Linear(128, 3))
        optimizer = torch.optim.Adam(model.parameters())
        clock = OwnClock()
        for _ in range(30):
            for batch in clock.batches(loader):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(batch["codes"]), batch["label"]).backward()
                optimizer.step()
    clock.print()


if __name__ == "__main__":
    main()
