# SPDX-License-Identifier: MIT
"""A small BERT trained by transformers' Trainer, with evaluation and checkpoints each epoch."""
import tempfile

import torch
import transformers
from torch.utils.data import Dataset

from own_clock import OwnClock


class Sentences(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        codes = torch.randint(0, 1000, (64,), generator=random)
        return {"input_ids": codes, "attention_mask": torch.ones(64, dtype=torch.long),
                "labels": int(codes.sum()) % 2}


class Timed(transformers.Trainer):
    clock = OwnClock()

    def get_batch_samples(self, *args, **kwargs):
        self.clock.step()
        with self.clock.during("data"):
            return super().get_batch_samples(*args, **kwargs)

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        self.clock.stop()
        return loss

    def evaluate(self, *args, **kwargs):
        with self.clock.during("periodic"):
            return super().evaluate(*args, **kwargs)

    def _save_checkpoint(self, *args, **kwargs):
        with self.clock.during("periodic"):
            return super()._save_checkpoint(*args, **kwargs)

    def log(self, *args, **kwargs):
        with self.clock.during("periodic"):
            return super().log(*args, **kwargs)


def main():
    config = transformers.BertConfig(vocab_size=1000, hidden_size=96, num_hidden_layers=3, num_attention_heads=4,
                                     intermediate_size=192)
    model = transformers.BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, per_device_train_batch_size=8, num_train_epochs=6, eval_strategy="epoch", save_strategy="epoch",
            logging_steps=10, report_to=[], use_cpu=True, dataloader_num_workers=1)
        trainer = Timed(model, arguments, train_dataset=Sentences(800), eval_dataset=Sentences(160))
        trainer.train()
    trainer.clock.print()


if __name__ == "__main__":
    main()
