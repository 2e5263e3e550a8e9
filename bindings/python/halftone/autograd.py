"""Functions with a backward of their own, under PyTorch's name of the module."""

from .halftone import Function
from .scopes import no_grad

__all__ = ["Function", "no_grad"]
