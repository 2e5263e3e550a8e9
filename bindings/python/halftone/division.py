"""Division: true, with the quotient rounded down, and its remainder, which has the sign of the divisor as in Python.

C divides floats alone. Integers are divided in double and corrected in integers, so every quotient is exact. Floats of
at most 32 bits are divided in double, which has all digits of quotients below 2^29; doubles are multiplied in two
halves.
"""

from . import dtypes
from . import halftone as _generated
from .checks import number
from .enums import Dtype
from .halftone import Tensor
from .operands import WITH_NUMBER, operands
from .registry import alias, both

_FACTOR = 2.0**27 + 1  # splits a double into two halves
_LARGEST_QUOTIENT = {Dtype.F64: 2.0**25}
_LARGEST_SHORT_QUOTIENT = 2.0**29
_LARGEST_DIVISOR = 2.0**990  # the halves of a larger one overflow
_and, _not, _where = _generated.logical_and, _generated.logical_not, _generated.where


def _promoted(name, input, other):
    first, second = operands(name, input, other)
    # An operand without dimensions does not change the dtype of one with dimensions; the sum of both has the dtype.
    dtype = _generated.add(first.detach(), second.detach()).dtype
    return _generated.cast(first, dtype), _generated.cast(second, dtype)


def _have_other_signs(a, b):
    """True where a and b are below and above 0."""
    return _generated.ne(_generated.lt_scalar(a, 0), _generated.lt_scalar(b, 0))


def _integer_quotient(name, a, b):
    """The quotient and the remainder in i64."""
    if _generated.any(_generated.eq_scalar(b, 0)).item():
        raise ZeroDivisionError(f"{name}: other is 0")
    quotient = _rounded_quotient(a, b)
    # The double of a number beyond 2^53 is rounded.
    quotient = _generated.add(quotient, _rounded_quotient(_generated.sub(a, _generated.mul(quotient, b)), b))
    quotient = _corrected(quotient, a, b)
    return quotient, _generated.sub(a, _generated.mul(quotient, b))


def _rounded_quotient(a, b):
    wide = _generated.div(_generated.cast(a, Dtype.F64), _generated.cast(b, Dtype.F64))
    return _generated.cast(_generated.floor(wide), Dtype.I64)


def _corrected(quotient, a, b):
    """The quotient is at most 1 too large or too small."""
    rest = _generated.sub(a, _generated.mul(quotient, b))
    is_large = _and(_generated.ne_scalar(rest, 0), _have_other_signs(rest, b))
    is_small = _and(_not(is_large), _generated.ge(_generated.abs(rest), _generated.abs(b)))
    return _generated.add(_generated.sub(quotient, is_large), is_small)


def _product_parts(quotient, b):
    """quotient * b as two exact terms, of which the larger is first."""
    large = _generated.mul_scalar(b, _FACTOR)
    high = _generated.sub(large, _generated.sub(large, b))
    return _generated.mul(quotient, high), _generated.mul(quotient, _generated.sub(b, high))


def _rest(a, quotient, b, dtype):
    if dtype != Dtype.F64:
        return _generated.sub(a, _generated.mul(quotient, b))
    for part in _product_parts(quotient, b):
        a = _generated.sub(a, part)
    return a


def _check_quotient(name, quotient, b, dtype):
    largest = _LARGEST_QUOTIENT.get(dtype, _LARGEST_SHORT_QUOTIENT)
    is_large = _generated.ge_scalar(_generated.abs(quotient), largest)
    is_large = _generated.logical_or(is_large, _generated.ge_scalar(_generated.abs(b), _LARGEST_DIVISOR))
    if _generated.any(_and(is_large, _and(_generated.is_finite(quotient), _generated.is_finite(b)))).item():
        raise ValueError(f"{name}: a quotient of {dtype} must be below {largest:g}, where its remainder is exact")


def _float_quotient(name, a, b):
    """The quotient and the remainder in double. A number that is divided by an infinity of its own sign remains."""
    dtype = a.dtype
    a, b = _generated.cast(a, Dtype.F64), _generated.cast(b, Dtype.F64)
    fixed_a, fixed_b = a.detach(), b.detach()
    quotient = _generated.floor(_generated.div(fixed_a, fixed_b))
    _check_quotient(name, quotient, fixed_b, dtype)
    rest = _rest(fixed_a, quotient, fixed_b, dtype)
    is_large = _and(_generated.ne_scalar(rest, 0), _have_other_signs(rest, fixed_b))
    is_infinite = _and(_generated.is_finite(fixed_a), _generated.eq_scalar(_generated.abs(fixed_b), float("inf")))
    is_beyond = _and(is_infinite, _and(_generated.ne_scalar(fixed_a, 0), _have_other_signs(fixed_a, fixed_b)))
    none = Tensor.zeros_like(fixed_b)
    quotient = _where(is_infinite, _where(is_beyond, _generated.sub_scalar(none, 1), none),
                      _generated.sub(quotient, is_large))
    rest = _rest(a, quotient, _where(is_infinite, none, b), dtype)
    return quotient, _where(is_beyond, fixed_b, rest)


def _of_integers(a, b, place):
    name = ("floor_divide", "remainder")[place]
    wide = (a, b) if a.dtype == Dtype.I64 else (_generated.cast(a, Dtype.I64), _generated.cast(b, Dtype.I64))
    found = _integer_quotient(name, *wide)[place]
    return found if a.dtype in (Dtype.I64, Dtype.BOOL) else _generated.cast(found, a.dtype)


@both
def floor_divide(input, other):
    """Returns the quotient rounded down, element by element, as Python's //; other may be a number. It is not recorded
    for backward. An integer divided by 0 is a ZeroDivisionError.
    """
    a, b = _promoted("floor_divide", input, other)
    if a.dtype not in dtypes.FLOATS:
        return _of_integers(a, b, 0)
    return _generated.cast(_float_quotient("floor_divide", a.detach(), b.detach())[0], a.dtype)


@both
def remainder(input, other):
    """Returns the rest of the division of input by other, element by element, as Python's %: it has the sign of other,
    which may be a number. An integer divided by 0 is a ZeroDivisionError.
    """
    a, b = _promoted("remainder", input, other)
    if a.dtype not in dtypes.FLOATS:
        return _of_integers(a, b, 1)
    return _generated.cast(_float_quotient("remainder", a, b)[1], a.dtype)


def _whole_quotient(a, b):
    """The quotient rounded toward 0. A float is rounded to its dtype first, as PyTorch does."""
    if a.dtype in dtypes.FLOATS:
        quotient = _generated.div(a, b)
        return _where(_generated.lt_scalar(quotient, 0), _generated.ceil(quotient), _generated.floor(quotient))
    quotient = floor_divide(a, b)
    is_inexact = _generated.ne_scalar(remainder(a, b), 0)
    return _generated.add(quotient, _and(is_inexact, _generated.lt_scalar(quotient, 0)))


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
    return _whole_quotient(*_promoted("div", input, other))


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
