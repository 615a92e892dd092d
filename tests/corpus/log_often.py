# SPDX-License-Identifier: MIT
"""A log of every parameter's moments after each step, as lines of JSON through the logging package."""
import json
import logging
import tempfile

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "log": ("periodic", ["periodic.logging"]),
    "evaluation": ("periodic", ["periodic.evaluation"]),
}


def main():
    held_out = torch.randn(64, 512)
    with tempfile.NamedTemporaryFile("w") as log:
        logging.basicConfig(stream=log, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

        def between(step, model, clock):
            if has("log"):
                with clock.during("periodic"):
                    for parameter in model.parameters():
                        values = parameter.detach().flatten()[:4000].tolist()
                        for part in range(level(3, 26, 120)):
                            logging.info(json.dumps({"step": step, "part": part, "values": values[part % 60 * 60:][:60]}))
            if has("evaluation") and step % 30 == 29:
                with clock.during("periodic"), torch.no_grad():
                    model.eval()
                    model(held_out).argmax(1)
                    model.train()

        train_on_random(perceptron(512), 512, between)


if __name__ == "__main__":
    main()
