"""Methods that the package adds to the library's Module. Each file beside this one adds those of its topic."""

from ..halftone import Module


def method(function):
    """Adds a function to Module under its own name."""
    setattr(Module, function.__name__, function)
    return function
