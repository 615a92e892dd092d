# SPDX-License-Identifier: MIT
"""A trainer with callbacks: one keeps a moving average of all parameters, one scores the model every few steps.
The model has a head for each of many tasks; a step trains one of them."""
import torch

from corpus import OwnClock, SECONDS, has, level
from corpus_torch import perceptron

CAUSES = {
    "average": ("compute", ["compute.after_update", "compute.small_ops", "compute.python_overhead"]),
    "evaluate": ("periodic", ["periodic.evaluation"]),
}
TASKS, EVERY = level(55, 190, 620), 25


class MovingAverage:
    def __init__(self, model, decay=0.999):
        self.decay, self.shadow = decay, {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def on_step_end(self, trainer):
        for name, value in trainer.model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * value


class Evaluate:
    def __init__(self, *held_out):
        self.inputs, self.labels = held_out

    @torch.no_grad()
    def on_step_end(self, trainer):
        if trainer.step % EVERY == EVERY - 1:
            with trainer.clock.during("periodic"):
                outputs = trainer.model["heads"][0](trainer.model["body"](self.inputs))
                trainer.accuracy = (outputs.argmax(1) == self.labels).float().mean().item()


class Trainer:
    def __init__(self, model, callbacks):
        self.model, self.callbacks, self.clock = model, callbacks, OwnClock()
        self.optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def fit(self, inputs, labels):
        for self.step in self.clock.steps(SECONDS):
            with self.clock.during("data"):
                batch, right = (part[self.step * 32 % 4064:][:32] for part in (inputs, labels))
            self.optimizer.zero_grad(set_to_none=True)
            outputs = self.model["heads"][self.step % TASKS](self.model["body"](batch))
            torch.nn.functional.cross_entropy(outputs, right).backward()
            self.optimizer.step()
            [callback.on_step_end(self) for callback in self.callbacks]
        self.clock.print()


if __name__ == "__main__":
    net = torch.nn.ModuleDict({"body": perceptron(256, 240, 64),
                               "heads": torch.nn.ModuleList(torch.nn.Linear(64, 10) for _ in range(TASKS))})
    chosen = [MovingAverage(net)] * has("average")
    chosen += [Evaluate(torch.randn(200, 256), torch.randint(10, (200,)))] * has("evaluate")
    Trainer(net, chosen).fit(torch.randn(4096, 256), torch.randint(10, (4096,)))
