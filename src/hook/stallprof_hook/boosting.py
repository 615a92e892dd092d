# SPDX-License-Identifier: MIT
"""Boosting rounds of XGBoost and LightGBM: a step is a call of Booster.update, or of XGBoost's
Booster.boost where a program has an objective of its own."""
import threading

from . import events
from .events import Around, ByIdentity, Nested, now, put
from .parts import Part, Parts

PARTS = Parts('boosting', Part('rounds', 'steps', 'Booster.update(self)'))
XGBOOST = Parts('boosting', *PARTS.parts, Part(
    'own_rounds', "rounds with the program's own objective", 'Booster.boost(self)'))

_numbers = ByIdentity()   # of boosters
_count = [0]
_nested = Nested()   # by thread


def _number_of(booster, package):
    number = _numbers.get(booster)
    if number is None:
        events.announce(package)   # whose version is not known before it is imported whole
        _count[0] += 1
        number = _numbers.put(booster, _count[0])
    return number


def _begins(args, kwargs):
    return _nested.begin(threading.get_ident())


def install(module):
    """`module` is xgboost.core or lightgbm.basic, just executed."""
    package = module.__name__.partition('.')[0]

    def done(token, args, result, succeeded):
        at = _nested.end(token)
        if at is not None and succeeded:
            put(events.OPTIMIZER_STEP, at, now() - at, _number_of(args[0], package))

    def around(rounds):
        return Around(rounds, _begins, done)
    parts = XGBOOST if package == 'xgboost' else PARTS
    parts.install(module, {'Booster.update': around, 'Booster.boost': around})
