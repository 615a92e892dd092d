# SPDX-License-Identifier: MIT
"""A control: an encoder of a transformer takes all of the time; a worker hands it its tokens well before."""
import logging

import torch
from torch.utils.data import DataLoader, TensorDataset

from corpus import OwnClock, batches, has, level
from corpus_torch import learn_from

CAUSES = {
    "loader": ("load transform", ["load.ipc", "transform.too_few_workers"]),
    "log": ("periodic", ["periodic.logging"]),
}
VOCABULARY, LENGTH, BATCH, WIDTH = 300, 24, 16, level(48, 64, 80)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.tokens, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.encoder, self.head = torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.encoder(self.tokens(tokens) + self.places))


def main():
    tokens = torch.randint(VOCABULARY, (BATCH * 64, LENGTH))
    if has("loader"):
        loader = DataLoader(TensorDataset(tokens), BATCH, num_workers=1, persistent_workers=True)
    else:
        loader = [(part,) for part in tokens.split(BATCH)]
    logging.basicConfig(level=logging.INFO)
    model, clock = Encoder(), OwnClock()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)

    def loss(inputs):
        return torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), inputs.roll(-1, 1).flatten())

    for step, (inputs,) in enumerate(batches(clock, loader)):
        learn_from(value := loss(inputs), optimizer)
        if has("log") and step % 50 == 0:
            with clock.during("periodic"):
                logging.info("step %d: loss %.3f", step, value.item())
    clock.print()


if __name__ == "__main__":
    main()
