# SPDX-License-Identifier: MIT
_BACKEND = 'jax'   # imported by the fake of that backend alone
