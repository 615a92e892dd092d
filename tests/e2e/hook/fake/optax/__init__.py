# SPDX-License-Identifier: MIT
from jax._src import core

from optax._src import update as _update


def apply_updates(params, updates):
    return updates if core.running else _update.apply_updates(params, updates)
