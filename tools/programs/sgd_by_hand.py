# SPDX-License-Identifier: MIT
"""Gradients by PyTorch, the update by hand: no optimizer object, and nothing to fix."""
import torch

from own_clock import OwnClock


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    every_input, every_target = torch.randn(4096, 128), torch.randn(4096, 1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 1))
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            chosen = torch.randint(0, 4096, (128,))
            inputs, targets = every_input[chosen], every_target[chosen]
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        model.zero_grad()
        loss.backward()
        for weights in model.parameters():
            weights.data.add_(weights.grad, alpha=-0.01)
    clock.print()


if __name__ == "__main__":
    main()
