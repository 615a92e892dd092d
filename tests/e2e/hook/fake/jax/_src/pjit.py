# SPDX-License-Identifier: MIT
from jaxlib._jax import PjitFunction as jit  # noqa: F401
