# SPDX-License-Identifier: MIT
"""What the corpus' programs with PyTorch share: a model of some ten milliseconds a step, its loop, the loader."""
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

import corpus

torch.manual_seed(1)
torch.set_num_threads(1)


def perceptron(features, width=360, classes=10):
    return torch.nn.Sequential(torch.nn.Linear(features, width), torch.nn.ReLU(), torch.nn.Linear(width, width),
                               torch.nn.ReLU(), torch.nn.Linear(width, classes))


class Indexed(Dataset):
    """A data set of `length` samples: `count` of them, again and again, that a function makes of their indices."""

    def __init__(self, length, count, sample):
        self.length, self.count, self.sample = length, count, sample

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.sample(index % self.count)


def made_before(count, sample):
    """The same samples, made before the training begins: a function of their indices."""
    ready = [sample(index) for index in range(count)]
    return lambda index: ready[index]


def loader_of(count, sample, batch_size=32, epoch=100, shared=True, **settings):
    """An epoch has `epoch` batches at least, whatever the number of samples. `shared`: workers send tensors in shared
    memory, as usual; else arrays through their pipe."""
    settings.update(corpus.OPTIONS.set)
    if settings.get("num_workers"):
        settings.setdefault("persistent_workers", True)
    if not shared:
        settings["collate_fn"] = arrays_of
    loader = DataLoader(Indexed(max(count, epoch * batch_size), count, sample), batch_size, **settings)
    return loader if shared else OfArrays(loader)


def arrays_of(samples):
    return [numpy.stack([numpy.asarray(value) for value in field]) for field in zip(*samples)]


class OfArrays:
    """A loader's arrays as tensors."""

    def __init__(self, loader):
        self.loader = loader

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for batch in self.loader:
            yield [torch.from_numpy(array) for array in batch]


def learn_from(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def classify(model, optimizer, inputs, labels):
    """A step of a classifier."""
    learn_from(torch.nn.functional.cross_entropy(model(inputs), labels), optimizer)


def steps_on(batches, clock, model, between, learn, optimizer):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for step, batch in enumerate(batches):
        if learn:
            learn_from(learn(model, batch), optimizer)
        else:
            classify(model, optimizer, batch[0], batch[1])
        if between:
            between(step, model, clock)
    clock.print()


def train(loader, model, between=None, learn=None, optimizer=None):
    """Epochs of it. `learn(model, batch)`: a batch's loss; `between(step, model, clock)`: what is done after a step."""
    clock = corpus.OwnClock()
    steps_on(corpus.batches(clock, loader), clock, model, between, learn, optimizer)


def train_on_random(model, features, between=None, learn=None, optimizer=None, batch_size=32, classes=10):
    """The same with no loader: batches are parts of a tensor that is there."""
    inputs, labels = torch.randn(2048, features), torch.randint(0, classes, (2048,))
    clock = corpus.OwnClock()

    def parts():
        for step in clock.steps(corpus.SECONDS):
            with clock.during("data"):
                first = step * batch_size % (2048 - batch_size)
                batch = inputs[first:first + batch_size], labels[first:first + batch_size]
            yield batch

    steps_on(parts(), clock, model, between, learn, optimizer)
