# SPDX-License-Identifier: MIT
"""A LightningModule with validation, a progress bar and checkpoints, one worker a loader."""
import tempfile

import lightning
import torch
from torch.utils.data import DataLoader, Dataset

from own_clock import OwnClock


class Signals(Dataset):
    def __len__(self):
        return 600

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        signal = torch.randn(4096, generator=random)
        return torch.fft.rfft(signal).abs()[:256].log1p(), signal.mean().reshape(1)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))

    def loss(self, batch):
        return torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])

    def training_step(self, batch, index):
        loss = self.loss(batch)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        self.log("validation", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Timed(lightning.pytorch.profilers.Profiler):
    """Lightning calls its profilers for what it begins and ends."""

    def __init__(self):
        super().__init__()
        self.clock, self.open = OwnClock(), {}

    def start(self, action_name):
        name = None
        if action_name.endswith("train_dataloader_next"):
            self.clock.step()
            name = "data"
        elif "ProgressBar" in action_name or "ModelCheckpoint" in action_name:
            name = "periodic"
        if name:
            self.open[action_name] = self.clock.during(name)
            self.open[action_name].__enter__()

    def stop(self, action_name):
        if action_name in self.open:
            self.open.pop(action_name).__exit__(None, None, None)
        if "on_train_batch_end" in action_name:
            self.clock.stop()


class Evaluation(lightning.Callback):
    def __init__(self, clock):
        self.clock = clock

    def on_validation_start(self, trainer, model):
        self.span = self.clock.during("periodic")
        self.span.__enter__()

    def on_validation_end(self, trainer, model):
        self.span.__exit__(None, None, None)


def main():
    model, timed = Model(), Timed()
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(max_epochs=30, accelerator="cpu", logger=False, profiler=timed,
                                    callbacks=[Evaluation(timed.clock)], default_root_dir=folder)
        trainer.fit(model, DataLoader(Signals(), 10, num_workers=1, persistent_workers=True),
                    DataLoader(Signals(), 50, num_workers=1, persistent_workers=True))
    timed.clock.print()


if __name__ == "__main__":
    main()
