# SPDX-License-Identifier: MIT
from ..framework import ops

def executing_eagerly():
    return not ops.graphs
