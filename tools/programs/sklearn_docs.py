# SPDX-License-Identifier: MIT
"""Documents hashed into features in each step, and a linear model that is fitted by parts."""
import numpy
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from own_clock import WITHOUT, OwnClock


def main():
    random = numpy.random.default_rng(1)
    words = numpy.array(["".join(random.choice(list("abcdefghij"), random.integers(3, 9))) for _ in range(5000)])
    documents = [" ".join(random.choice(words, 120)) for _ in range(4000)]
    labels = random.integers(0, 5, 4000)
    hashing, model = HashingVectorizer(n_features=2 ** 14), SGDClassifier()
    ready = hashing.transform(documents[:200])
    clock = OwnClock()
    for step in clock.steps():
        with clock.during("data"):
            at = step * 200 % 4000
            features = ready if WITHOUT else hashing.transform(documents[at:at + 200])
        for _ in range(3):
            model.partial_fit(features, labels[at:at + 200], classes=numpy.arange(5))
    clock.print()


if __name__ == "__main__":
    main()
