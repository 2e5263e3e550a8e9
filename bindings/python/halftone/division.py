"""Division: true, with the quotient rounded down, with its whole part, and the two remainders."""

from . import dtypes
from . import halftone as _generated
from .checks import number
from .halftone import Tensor
from .operands import WITH_NUMBER, operands
from .registry import alias, both


@both
def floor_divide(input, other):
    """Returns the quotient rounded down, element by element, as Python's //; other may be a number. Gradients are 0.
    An integer divided by 0 is an error.
    """
    return _generated.floor_divide(*operands("floor_divide", input, other))


@both
def remainder(input, other):
    """Returns the rest of the division of input by other, element by element, as Python's %: it has the sign of other,
    which may be a number. An integer divided by 0 is an error.
    """
    return _generated.remainder(*operands("remainder", input, other))


@both
def fmod(input, other):
    """Returns the rest of the division of input by other, element by element, as C's fmod: it has the sign of input.
    other may be a number. An integer divided by 0 is an error.
    """
    return _generated.fmod(*operands("fmod", input, other))


def _whole_quotient(a, b):
    """The quotient rounded toward 0. A float is rounded to its dtype first, as PyTorch does."""
    if a.dtype in dtypes.FLOATS or b.dtype in dtypes.FLOATS:
        return _generated.trunc(_generated.div(a, b))
    return _generated.floor_divide(_generated.sub(a, _generated.fmod(a, b)), b)


@both
def div(input, other, *, rounding_mode=None):
    """Returns input / other, element by element; other may be a number. rounding_mode: None, or "floor" for the
    quotient rounded down, as floor_divide, or "trunc" for its whole part.
    """
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise ValueError(f"div: rounding_mode must be None, 'floor' or 'trunc', got {rounding_mode!r}")
    return _whole_quotient(*operands("div", input, other))


@both
def true_divide(input, other):
    """Returns input / other, element by element; other may be a number. Integers give floats."""
    if isinstance(other, Tensor) and isinstance(input, Tensor):
        return _generated.div(input, other)
    plain = number(other)
    if plain is not None and isinstance(input, Tensor):
        return WITH_NUMBER["div"](input, plain)
    return _generated.div(*operands("div", input, other))


alias("divide", div)
