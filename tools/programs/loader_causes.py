# SPDX-License-Identifier: MIT
"""Takes one possible cause of a slow loader away, so that what it costs is measured and not argued."""
import torch
from torch.utils.data import IterableDataset

MADE = 8   # samples and batches that are made before they are repeated
loaders = {}   # by identity: what replaces a loader, for all of its epochs


class OnceMade:
    """A dataset of a few samples, made before any worker starts, that hands those out."""

    def __init__(self, dataset):
        self.count = len(dataset)
        self.made = [dataset[index] for index in range(min(MADE, self.count))]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.made[index % len(self.made)]


class OnceCollated:
    """A collate function that makes one batch and hands that out."""

    def __init__(self, collate):
        self.collate = collate
        self.batch = None

    def __call__(self, samples):
        if self.batch is None:
            self.batch = self.collate(samples)
        return self.batch


class Repeated:
    """A loader whose batches are those of its beginning, from memory; each epoch as long as the first."""

    def __init__(self, loader):
        self.batches = []
        self.count = 0
        for batch in loader:
            self.count += 1
            if len(self.batches) < MADE:
                self.batches.append(batch)

    def __iter__(self):
        return (self.batches[i % len(self.batches)] for i in range(self.count))


def possible(loader):
    """Which of them a loader can be without."""
    causes = ["batches", "threads"]
    if loader.batch_sampler is not None or loader.batch_size is not None:   # else its data set makes batches
        causes.append("collate")
    if not isinstance(loader.dataset, IterableDataset):   # how many samples a stream has only its end says
        causes.append("samples")
    if loader.num_workers > 0 and not loader.persistent_workers:
        causes.append("startup")
    return causes


def without(cause, loader):
    if id(loader) in loaders:
        return loaders[id(loader)]
    if cause not in possible(loader):
        raise SystemExit(0)
    replaced = loader
    if cause == "threads":
        torch.set_num_threads(1)
    elif cause == "startup":   # the class refuses both assignments once it is made
        object.__setattr__(loader, "persistent_workers", True)
    elif cause == "collate":
        object.__setattr__(loader, "collate_fn", OnceCollated(loader.collate_fn))
    elif cause == "samples":
        object.__setattr__(loader, "dataset", OnceMade(loader.dataset))
    else:
        replaced = Repeated(loader)
    loaders[id(loader)] = replaced
    return replaced
