# SPDX-License-Identifier: MIT
"""Hundreds of small parameters, each updated by operators of its own. Without: all of them as one."""
import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {"parameters": ("compute", ["compute.small_ops", "compute.python_overhead"])}


def main():
    dense = perceptron(512)
    many = level(16, 50, 300)
    scales = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(16)) for _ in range(many))
    whole = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(16 * many))])
    model = torch.nn.ModuleList([dense, scales if has("parameters") else whole])
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)

    def learn(_, batch):
        penalty = sum((scale * scale).mean() for scale in model[1])
        return torch.nn.functional.cross_entropy(dense(batch[0]), batch[1]) + 1e-3 * penalty

    train_on_random(model, 512, learn=learn, optimizer=optimizer)


if __name__ == "__main__":
    main()
