"""Data sets, orders and loaders, under the name that they have in PyTorch."""

from . import datasets, loader, samplers
from .datasets import *  # noqa: F403
from .loader import *  # noqa: F403
from .samplers import *  # noqa: F403

__all__ = [*datasets.__all__, *loader.__all__, *samplers.__all__]
