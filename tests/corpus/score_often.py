# SPDX-License-Identifier: MIT
"""A linear model of scikit-learn that is fitted by parts, and scored on held-out rows every few of them."""
import numpy
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {
    "score": ("periodic", ["periodic.evaluation"]),
    "hash": ("transform", ["transform.in_process", "transform.slow_op"]),
}


def main():
    random = numpy.random.default_rng(1)
    words = numpy.array([f"word{i}" for i in range(3000)])
    documents = [" ".join(random.choice(words, 40)) for _ in range(2000)]
    labels, hashing, model = random.integers(0, 5, 2000), HashingVectorizer(n_features=2 ** 12), SGDClassifier()
    ready, held_out, clock = hashing.transform(documents), hashing.transform(documents), OwnClock()

    def batch(step):
        at = step * 40 % 2000
        return hashing.transform(documents[at:at + 40]) if has("hash") else ready[at:at + 40], labels[at:at + 40]

    batch = ahead(batch)
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            features, targets = batch(step)
        for _ in range(4):
            model.partial_fit(features, targets, classes=numpy.arange(5))
        if has("score") and step % level(4, 1, 1) == 0:
            with clock.during("periodic"):
                for _ in range(level(4, 4, 14)):
                    model.score(held_out, labels[:held_out.shape[0]])
    clock.print()


if __name__ == "__main__":
    main()
