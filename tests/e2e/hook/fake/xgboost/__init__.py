# SPDX-License-Identifier: MIT
from .core import Booster  # noqa: F401

__version__ = '3.fake'
