# SPDX-License-Identifier: MIT
"""XML records parsed and searched by lxml for each batch, in the loop; a naive Bayes model of scikit-learn."""
import numpy
from lxml import etree
from sklearn.naive_bayes import MultinomialNB

from corpus import OwnClock, SECONDS, ahead, has, level

CAUSES = {
    "parse": ("transform", ["transform.in_process", "transform.slow_op"]),
    "score": ("periodic", ["periodic.evaluation"]),
}
FEATURES, ROWS = 400, 100


def features_of(text):
    counts = numpy.zeros(FEATURES)
    for word in etree.fromstring(text).xpath("//body/w"):
        counts[int(word.get("n"))] += 1
    return counts


def main():
    random = numpy.random.default_rng(1)
    texts = [b"<doc><body>" + b"".join(b'<w n="%d">x</w>' % n for n in random.integers(0, FEATURES, level(6, 30, 160))) +
             b"</body></doc>" for _ in range(ROWS)]
    ready, labels = numpy.stack([features_of(text) for text in texts]), random.integers(0, 10, ROWS)
    held_out = random.integers(0, 3, (800, FEATURES))
    model, clock = MultinomialNB(), OwnClock()
    batch = ahead(lambda step: numpy.stack([features_of(text) for text in texts]) if has("parse") else ready)
    for step in clock.steps(SECONDS):
        with clock.during("data"):
            features = batch(step)
        for _ in range(level(20, 12, 10)):
            model.partial_fit(features, labels, classes=numpy.arange(level(20, 12, 10)))
        if has("score") and step % 20 == 19:
            with clock.during("periodic"):
                model.score(held_out, held_out[:, 0])
    clock.print()


if __name__ == "__main__":
    main()
