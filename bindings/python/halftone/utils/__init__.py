"""Data sets and loaders: utils.data."""

from . import data

__all__ = ["data"]
