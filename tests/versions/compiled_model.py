# SPDX-License-Identifier: MIT
"""A model that torch.compile() compiles, and an optimizer of PyTorch's: 2.0 to 2.2 take what the hook hears of updates
by off the optimizers' classes then."""
import json

import torch

STEPS = 20


def main():
    model = torch.nn.Linear(8, 1)
    try:
        model = torch.compile(model, backend='eager')
    except RuntimeError as error:   # this Python is too new for that version
        if 'not yet supported' not in str(error):
            raise
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples = torch.randn(4, 8)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(samples).sum().backward()
        optimizer.step()
    print(json.dumps({'steps': STEPS}))


if __name__ == '__main__':
    main()
