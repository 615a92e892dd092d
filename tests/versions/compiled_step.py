# SPDX-License-Identifier: MIT
"""An update inside a function that torch.compile() traces: PyTorch 2.0 to 2.2 lack what newer ones ask with. It has to
run as it does without the hook, which does not count what is compiled."""
import json

import torch

STEPS = 20


def main():
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    @torch.compile(backend='eager')
    def step():
        optimizer.step()

    samples = torch.randn(4, 8)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(samples).sum().backward()
        step()
    print(json.dumps({}))


if __name__ == '__main__':
    main()
