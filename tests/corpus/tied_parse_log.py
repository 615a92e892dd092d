# SPDX-License-Identifier: MIT
"""A control: reading lines of JSON and writing a log cost about the same."""
import json
import logging
import tempfile

import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "parse": ("transform", ["transform.in_process", "transform.slow_op"]),
    "log": ("periodic", ["periodic.logging"]),
}
COUNT, FEATURES = 256, 256


def main():
    notes = [f"note {i}" for i in range(level(150, 1400, 9000))]
    lines = [json.dumps({"values": [float(i)] * FEATURES, "notes": notes}) for i in range(COUNT)]

    def sample(index):
        return torch.tensor(json.loads(lines[index])["values"]) / COUNT, index % 10

    with tempfile.NamedTemporaryFile("w") as file:
        logging.basicConfig(stream=file, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

        def between(step, model, clock):
            if has("log"):
                with clock.during("periodic"):
                    for part in range(level(70, 250, 900)):
                        logging.info("step %d part %d of %s", step, part, type(model).__name__)

        train(loader_of(COUNT, sample if has("parse") else made_before(COUNT, sample)), perceptron(FEATURES), between)


if __name__ == "__main__":
    main()
