"""Functions of two operands, each of which may be a number or an array."""

import math

from . import dtypes
from . import halftone as _generated
from .checks import integer, needed_number, number, tensor
from .division import floor_divide, remainder
from .enums import Dtype
from .halftone import Tensor
from .operands import EXACT, WITH_NUMBER, operand, operands, scalar
from .registry import alias, both, function

_where = _generated.where


def _binary(name, documentation):
    with_tensor, with_number = getattr(_generated, name), WITH_NUMBER[name]

    def made(input, other):
        if type(other) is Tensor and type(input) is Tensor:  # first, since it is the usual case
            return with_tensor(input, other)
        plain = number(other)
        if plain is not None and isinstance(input, Tensor):
            return with_number(input, plain)
        return with_tensor(*operands(name, input, other))

    made.__name__ = name
    made.__doc__ = documentation
    return both(made)


def _scaled(name, other, alpha, beside):
    """other * alpha in at least FP32, so that the sum with it is rounded once."""
    made = operand(name, "other", other, beside)
    if made.dtype in dtypes.SHORT_FLOATS:
        made = _generated.cast(made, Dtype.F32)
    return WITH_NUMBER["mul"](made, needed_number(name, "alpha", alpha))


def _sum_of(name):
    with_tensor, with_number = getattr(_generated, name), WITH_NUMBER[name]

    def made(input, other, *, alpha=1):
        if type(other) is Tensor and type(input) is Tensor and alpha == 1:  # first, since it is the usual case
            return with_tensor(input, other)
        if alpha == 1:
            plain = number(other)
            if plain is not None and isinstance(input, Tensor):
                return with_number(input, plain)
            return with_tensor(*operands(name, input, other))
        first, second = operands(name, input, other)
        made = with_tensor(first, _scaled(name, second, alpha, first))
        return made.to(_generated.dtype_promote(first.dtype, second.dtype))

    made.__name__ = name
    return made


add = _sum_of("add")
add.__doc__ = "Returns input + alpha * other, element by element; other may be a number."
sub = _sum_of("sub")
sub.__doc__ = "Returns input - alpha * other, element by element; other may be a number."
both(add)
both(sub)
alias("subtract", sub)
mul = _binary("mul", "Returns input * other, element by element; other may be a number.")
alias("multiply", mul)
for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    _binary(_name, f"Returns input {_sign} other, element by element, as bools; other may be a number.")


maximum = _binary("maximum", "Returns the larger of two elements, or NaN. One may be a number.")
minimum = _binary("minimum", "Returns the smaller of two elements, or NaN. One may be a number.")


def _integer_power(base, exponent):
    """Squares base once for each bit of an int, in integers that wrap."""
    result = None
    while True:
        if exponent & 1:
            result = base if result is None else _generated.mul(result, base)
        exponent >>= 1
        if not exponent:
            return _generated.full_like(base, 1) if result is None else result
        base = _generated.mul(base, base)


def _integer_powers(base, exponent):
    """As _integer_power, with the bits of each element of a tensor. As in PyTorch a negative power is 0, except that of
    1 and -1.
    """
    both_shapes = _generated.mul_scalar(_generated.add(base, exponent), 0)
    base, exponent = _generated.add(base, both_shapes), _generated.add(exponent, both_shapes)
    is_negative = _generated.lt_scalar(exponent, 0)
    is_fraction = _generated.logical_and(is_negative, _generated.ne_scalar(_generated.abs(base), 1))
    base = _generated.mul(base, _generated.logical_not(is_fraction))
    exponent = _where(is_negative, _generated.add_scalar(remainder(exponent, 2), 2), exponent)
    result = Tensor.ones_like(base)
    while _generated.any(exponent).item():
        half = floor_divide(exponent, 2)
        is_odd = _generated.ne(exponent, _generated.mul_scalar(half, 2))
        result = _where(is_odd, _generated.mul(result, base), result)
        base, exponent = _generated.mul(base, base), half
    return result


def _power_of_number(input, exponent):
    kind = input.dtype if isinstance(exponent, int) else Dtype.F32
    if kind in dtypes.FLOATS:
        return _generated.pow_scalar(input, exponent)
    if exponent < 0:
        raise ValueError(f"pow: exponent must be at least 0 beside an integer base, got {exponent}")
    return _integer_power(_generated.cast(input, Dtype.I64) if kind == Dtype.BOOL else input, int(exponent))


@both
def pow(input, exponent):
    """Raises to a power, element by element. input or exponent may be a number; integers give integers, which wrap."""
    if isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        plain = number(exponent)
        if plain is not None:
            return _power_of_number(input, plain)
    base, power = operands("pow", input, exponent)
    if base.dtype in dtypes.FLOATS or power.dtype in dtypes.FLOATS:
        return _generated.pow(base, power)
    return _integer_powers(base, power)


def _chosen(condition, input, other):
    if number(input) is not None and number(other) is not None:  # as PyTorch: the widest kind of the two numbers
        kinds = {type(number(value)) for value in (input, other)}
        dtype = dtypes.get_default_dtype() if float in kinds else Dtype.I64 if int in kinds else Dtype.BOOL
        beside = Tensor.zeros(condition.device, dtype, ())
        return _where(condition, scalar("where", number(input), beside), scalar("where", number(other), beside))
    return _where(condition, *operands("where", input, other))


@both
def nonzero(input, *, as_tuple=False):
    """The indices of the elements that are not 0, in a row for each of them, or with as_tuple in one tensor for each
    dimension. Waits for the device.
    """
    made = tensor("nonzero", "input", input)
    if not as_tuple:
        return _generated.nonzero(made)
    places = _generated.nonzero(made if made.ndim else _generated.reshape(made, (1,)))
    return tuple(places[:, dim] for dim in range(places.shape[1]))


@both
def masked_fill(input, mask, value):
    """Replaces the elements at which a mask is true by a number, or by a tensor without dimensions."""
    made, chosen, plain = tensor("masked_fill", "input", input), tensor("masked_fill", "mask", mask), number(value)
    if plain is not None and (abs(plain) <= EXACT or made.dtype in dtypes.FLOATS):
        return _generated.masked_fill(made, chosen, plain)
    filled = operand("masked_fill", "value", value, made)
    if filled.ndim:
        raise ValueError(f"masked_fill: value must be a number or have no dimensions, got shape {filled.shape}")
    return _where(chosen, _generated.cast(filled, made.dtype), made)


@both
def round(input, *, decimals=0):
    """Rounds to the nearest number with so many digits after the point, halves to the even one. A negative number of
    digits rounds to tens, hundreds and so on.
    """
    made, places = tensor("round", "input", input), integer("round", "decimals", decimals)
    if not places:
        return _generated.round(made)
    if made.dtype not in dtypes.FLOATS:
        raise TypeError(f"round: decimals must be 0 for a tensor of {made.dtype}, got {places}")
    ten = 10.0 ** abs(places)
    wide = _generated.cast(made, Dtype.F32) if made.dtype in dtypes.SHORT_FLOATS else made
    if places > 0:
        rounded = _generated.div_scalar(_generated.round(_generated.mul_scalar(wide, ten)), ten)
    else:
        rounded = _generated.mul_scalar(_generated.round(_generated.div_scalar(wide, ten)), ten)
    return _generated.cast(rounded, made.dtype)


@function
def where(condition, input=None, other=None):
    """Chooses element by element: input if the condition is true, else other; each may be a number. With a condition
    alone it returns the indices of its true elements, one tensor for each dimension.
    """
    chosen = tensor("where", "condition", condition)
    return nonzero(chosen, as_tuple=True) if input is None and other is None else _chosen(chosen, input, other)


def _where_self(self, condition, other):
    """Chooses element by element: this tensor if the condition is true, else other, which may be a number."""
    return _chosen(tensor("where", "condition", condition), self, other)


_where_self.__name__ = "where"
Tensor.where = _where_self


def _is_bound_number(value):
    return value is None or number(value) is not None


@both
def clamp(input, min=None, max=None):
    """Bounds the elements: at least min and at most max, each of which may be a number, a tensor, or None."""
    if min is None and max is None:
        raise TypeError("clamp: min or max must be a number or a Tensor, got None for both")
    made = tensor("clamp", "input", input)
    if _is_bound_number(min) and _is_bound_number(max) and made.dtype in dtypes.FLOATS:
        low, high = (limit if bound is None else number(bound) for bound, limit in ((min, -math.inf), (max, math.inf)))
        if not (math.isnan(low) or math.isnan(high)):
            return _generated.clamp(made, low, high)
    for bound, apply, argument in ((min, _generated.maximum, "min"), (max, _generated.minimum, "max")):
        if bound is not None:
            made = apply(made, operand("clamp", argument, bound, made))
    return made


alias("clip", clamp)


@both
def clamp_min(input, min):
    """Bounds the elements from below: at least min, a number or a tensor."""
    return clamp(input, min=min)


@both
def clamp_max(input, max):
    """Bounds the elements from above: at most max, a number or a tensor."""
    return clamp(input, max=max)
