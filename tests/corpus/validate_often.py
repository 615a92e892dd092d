# SPDX-License-Identifier: MIT
"""A convolutional network whose trainer goes through a validation set every few steps."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from corpus import OwnClock, batches, has, level

CAUSES = {"validation": ("periodic", ["periodic.evaluation"])}


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 5 * 5, 10))

    def forward(self, images):
        return self.head(self.body(images))


class Trainer:
    def __init__(self, model, train_loader, val_loader, val_every):
        self.model, self.train_loader, self.val_loader, self.val_every = model, train_loader, val_loader, val_every
        self.optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.best, self.clock = float("inf"), OwnClock()

    def validate(self):
        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for images, labels in self.val_loader:
                total += self.criterion(self.model(images), labels).item() * len(labels)
        self.model.train()
        return total / len(self.val_loader.dataset)

    def fit(self):
        self.model.train()
        for step, (images, labels) in enumerate(batches(self.clock, self.train_loader), 1):
            self.optimizer.zero_grad()
            self.criterion(self.model(images), labels).backward()
            self.optimizer.step()
            if has("validation") and step % self.val_every == 0:
                with self.clock.during("periodic"):
                    self.best = min(self.best, self.validate())
        self.clock.print()


def digits(count):
    return TensorDataset(torch.randn(count, 1, 20, 20), torch.randint(0, 10, (count,)))


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    Trainer(Digits(), DataLoader(digits(2048), batch_size=32, shuffle=True),
            DataLoader(digits(level(128, 340, 1400)), batch_size=64), val_every=10).fit()
