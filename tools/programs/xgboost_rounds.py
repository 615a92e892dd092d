# SPDX-License-Identifier: MIT
"""Boosting with a watch list, from a table of the program's own making."""
import numpy
import xgboost

from own_clock import OwnClock


class Timed(xgboost.callback.TrainingCallback):
    def __init__(self):
        super().__init__()
        self.clock = OwnClock(knows=())

    def before_iteration(self, model, epoch, evals_log):
        self.clock.step()
        return False

    def after_iteration(self, model, epoch, evals_log):
        self.clock.stop()
        return False


def main():
    random = numpy.random.default_rng(1)
    inputs = random.standard_normal((400_000, 40)).astype("f4")
    labels = (inputs[:, :5].sum(1) + random.standard_normal(400_000) > 0).astype("i4")
    train = xgboost.DMatrix(inputs[:300_000], labels[:300_000])
    watch = [(train, "train"), (xgboost.DMatrix(inputs[300_000:], labels[300_000:]), "held_out")]
    settings = {"objective": "binary:logistic", "max_depth": 8, "eval_metric": ["auc", "error"], "nthread": 2}
    timed = Timed()
    xgboost.train(settings, train, num_boost_round=60, evals=watch, verbose_eval=20, callbacks=[timed])
    timed.clock.print()


if __name__ == "__main__":
    main()
