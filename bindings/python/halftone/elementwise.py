"""Functions of several operands, element by element, under PyTorch's names: logic, bits, and added products."""

import math

from . import halftone as _generated
from .checks import needed_number, number, tensor
from .operands import operand, operands
from .registry import both


def _of_two(name, documentation):
    apply = getattr(_generated, name)

    def made(input, other):
        return apply(*operands(name, input, other))

    made.__name__, made.__doc__ = name, documentation
    both(made)


for _name, _text in {
    "bitwise_and": "The bits that are 1 in both, of integers or bools",
    "bitwise_or": "The bits that are 1 in either, of integers or bools",
    "bitwise_xor": "The bits that are 1 in exactly one, of integers or bools",
    "logical_and": "True for elements that are both not 0",
    "logical_or": "True for elements of which at least one is not 0",
    "logical_xor": "True for elements of which exactly one is not 0",
    "atan2": "The angle of the point (other, input) in radians",
    "logaddexp": "log(exp(input) + exp(other)), without overflow",
}.items():
    _of_two(_name, f"{_text}; other may be a number.")


def _with_product(name, documentation):
    apply = getattr(_generated, name)

    def made(input, tensor1, tensor2, *, value=1):
        given = {"input": input, "tensor1": tensor1, "tensor2": tensor2}
        return apply(*(tensor(name, key, item) for key, item in given.items()), needed_number(name, "value", value))

    made.__name__, made.__doc__ = name, documentation
    both(made)


_with_product("addcmul", "input + value * tensor1 * tensor2, element by element.")
_with_product("addcdiv", "input + value * tensor1 / tensor2, element by element.")


@both
def lerp(input, end, weight):
    """input + weight * (end - input), element by element; weight may be a number."""
    first, last, plain = tensor("lerp", "input", input), tensor("lerp", "end", end), number(weight)
    if plain is not None:
        return _generated.lerp_scalar(first, last, plain)
    return _generated.lerp(first, last, operand("lerp", "weight", weight, first))


def _replacement(argument, value):
    """A number in place of an infinity. C replaces it by the largest number of the dtype if it gets NaN."""
    if value is None:
        return math.nan
    plain = needed_number("nan_to_num", argument, value)
    if math.isnan(plain):
        raise ValueError(f"nan_to_num: {argument} must not be NaN")
    return plain


@both
def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """Replaces NaN and the infinities by numbers: None is 0 for NaN, and the largest and the lowest number of the dtype
    for the infinities.
    """
    plain = 0.0 if nan is None else needed_number("nan_to_num", "nan", nan)
    return _generated.nan_to_num(tensor("nan_to_num", "input", input), plain, _replacement("posinf", posinf),
                                 _replacement("neginf", neginf))
