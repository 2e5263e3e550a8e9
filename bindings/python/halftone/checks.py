"""Checks of arguments. Each error says the function, the argument, what it accepts and what it got."""

import operator
import sys

from .halftone import Parameter, Tensor

_LONGEST = 60


def got(value):
    """A value as error messages show it: "str 'a'", "Tensor of shape (2, 3)"."""
    kind = type(value).__name__
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"Tensor of shape {value.shape}"
    text = repr(value)
    return f"{kind} {text}" if len(text) <= _LONGEST else f"{kind} {text[:_LONGEST]}..."


def wrong(function, argument, expected, value):
    """Makes the TypeError of an argument of another type."""
    return TypeError(f"{function}: {argument} must be {expected}, got {got(value)}")


def integer(function, argument, value):
    """An int, or an integer of another package."""
    if type(value) is int:
        return value
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise wrong(function, argument, "an int", value)


def _is_integer(value):
    return hasattr(value, "__index__") and not getattr(value, "shape", ())


def integers(function, argument, value):
    """A tuple of ints, from one int or a sequence of them."""
    if _is_integer(value):
        return (integer(function, argument, value),)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise wrong(function, argument, "an int or a sequence of ints", value)
    return tuple(integer(function, argument, item) for item in value)


def sizes(function, argument, given):
    """The ints of `*given`, which may be one sequence of them."""
    return integers(function, argument, given[0] if len(given) == 1 else given)


def dims(function, value):
    """Dimensions of a reduction; None and no dimension mean all."""
    return () if value is None else integers(function, "dim", value)


def tensor(function, argument, value):
    """A tensor, or the tensor of a parameter."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Parameter):
        return value.tensor
    raise wrong(function, argument, "a Tensor", value)


def is_array(value):
    """True for an array of numpy, or of a package that describes its memory alike."""
    return hasattr(value, "__array_interface__") and not is_numpy_number(value)


def is_numpy_number(value):
    """True for numpy's numbers, such as numpy.float32(1). Does not import numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


_NUMBERS = frozenset((bool, int, float))


def number(value):
    """A bool, an int or a float of Python's own types, from one of them or of numpy; None for other objects."""
    if type(value) in _NUMBERS:
        return value
    if is_numpy_number(value):
        made = value.item()
        return made if type(made) in _NUMBERS else None
    return None


def needed_number(function, argument, value):
    """A bool, int or float, also of numpy or of a tensor with one element."""
    made = value.item() if isinstance(value, Tensor) and value.numel() == 1 else number(value)
    if made is None:
        raise wrong(function, argument, "a number", value)
    return made
