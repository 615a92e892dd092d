# SPDX-License-Identifier: MIT
"""The small convolutional network of the demo programs."""
import torch


def small_cnn(width=16, classes=10):
    def block(inputs, outputs, stride=1):
        return [torch.nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
                torch.nn.BatchNorm2d(outputs), torch.nn.ReLU(inplace=True),
                torch.nn.MaxPool2d(2)]
    layers = block(3, width, 2) + block(width, 2 * width) + block(2 * width, 4 * width)
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                               torch.nn.Linear(4 * width, classes))
