"""Checks of arguments. Each error says the function, the argument, what it accepts and what it got."""

import operator
import sys

from .enums import ENUMERATIONS
from .errors import InvalidHandleError
from .halftone import Parameter, Tensor

_LONGEST = 60
_SIMPLE = (bool, int, float, complex, str, bytes, slice, range)


def describe(value):
    """A value as messages show it: the type and the value of a simple object, and of any other the type alone."""
    if value is None:
        return "None"
    kind = type(value)
    if kind.__name__ in ENUMERATIONS:
        return f"{kind.__name__}.{getattr(value, 'name', value)}"
    if isinstance(value, Tensor):
        return _described_tensor(value, kind.__name__)
    if isinstance(value, int) and value.bit_length() > 200:
        return f"{kind.__name__} of {value.bit_length()} bits"
    is_scalar = kind.__module__ == "numpy" and getattr(value, "shape", None) == ()
    if not is_scalar and not isinstance(value, _SIMPLE):
        return kind.__name__
    text = str(value) if is_scalar else repr(value)
    return f"{kind.__name__} {text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}"


def _described_tensor(value, kind):
    try:
        return f"{kind} of shape {value.shape}"
    except InvalidHandleError:
        return f"closed {kind}"


def wrong(function, argument, expected, value):
    """Makes the TypeError of an argument of another type."""
    return TypeError(f"{function}: {argument} must be {expected}, got {describe(value)}")


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


def sizes(function, argument, given, named=None):
    """The ints of `*given`, which may be one sequence of them, or of the argument by its name."""
    if named is None:
        return integers(function, argument, given[0] if len(given) == 1 else given)
    if given:
        raise TypeError(f"{function}: {argument} is given twice, by its place and by its name")
    return integers(function, argument, named)


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


NUMBERS = frozenset((bool, int, float))


def number(value):
    """A bool, an int or a float of Python's own types, from one of them or of numpy; None for other objects."""
    if type(value) in NUMBERS:
        return value
    if is_numpy_number(value):
        made = value.item()
        return made if type(made) in NUMBERS else None
    return None


def needed_number(function, argument, value):
    """A bool, int or float, also of numpy or of a tensor with one element."""
    made = value.item() if isinstance(value, Tensor) and value.numel() == 1 else number(value)
    if made is None:
        raise wrong(function, argument, "a number", value)
    return made
