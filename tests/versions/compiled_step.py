# SPDX-License-Identifier: MIT
"""An update inside a function that torch.compile() traces: PyTorch 2.0 to 2.2 lack what newer ones ask with. It has to
run as it does without the hook, which does not count what is compiled."""
import json

import torch

STEPS, RATE = 20, 0.01


def main():
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    @torch.compile(backend='eager')
    def step():
        optimizer.step()

    samples, before = torch.randn(4, 8), model.weight.detach().clone()
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(samples).sum().backward()
        step()
    # Of the sum of a linear model's outputs the gradient is the same in every step.
    assert torch.allclose(model.weight, before - STEPS * RATE * samples.sum(0), atol=1e-4), 'not as many updates'
    print(json.dumps({}))


if __name__ == '__main__':
    main()
