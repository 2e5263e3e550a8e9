"""Functions of the package that are written in Python. Each topic's module adds its own to the package."""

from .halftone import Tensor

FUNCTIONS = {}


def _named(function):
    """A function whose name Python uses itself, such as sum, has an underscore in its module."""
    name = function.__name__
    if not name.startswith("__"):
        function.__name__ = function.__qualname__ = name.removeprefix("_")
    return function


def function(made):
    """Adds a function to the package."""
    FUNCTIONS[_named(made).__name__] = made
    return made


def method(made):
    """Adds a method to Tensor."""
    setattr(Tensor, _named(made).__name__, made)
    return made


def both(made):
    """Adds a function of a tensor to the package, and to Tensor as a method."""
    return method(function(made))


def alias(name, made):
    """Adds a function of a tensor under a second name."""
    FUNCTIONS[name] = made
    setattr(Tensor, name, made)
