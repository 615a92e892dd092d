# SPDX-License-Identifier: MIT
"""As much of jax as the hook meets: compiled functions that trace once, and gradients."""
from jax._src.core import Array
from jax._src.interpreters import ad
from jax._src.interpreters.ad import gradient
from jax._src.lax.control_flow.loops import scan
from jax._src.pjit import jit

__version__ = '9.fake'
__all__ = ['Array', 'ad', 'gradient', 'jit', 'scan']
