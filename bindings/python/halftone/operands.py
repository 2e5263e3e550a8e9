"""Operands of arithmetic: tensors, numbers and arrays. A number does not change the dtype of floats, and dtypes are
promoted as in PyTorch.
"""

import math

from . import buffers, dtypes
from . import halftone as _generated
from .checks import is_array, number, wrong
from .enums import Dtype
from .errors import InvalidArgumentError
from .halftone import Parameter, Tensor

EXACT = 2**53  # C receives numbers as doubles
_SMALL = 128  # every integer dtype but u8 holds the numbers from -128 to 127


def as_tensor(value, beside):
    """A tensor for an operand that is no number: itself, a parameter's, or an array's on the device of the other one.
    None for other objects.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Parameter):
        return value.tensor
    return buffers.tensor(value, device=beside.device) if is_array(value) else None


def scalar(name, value, beside, argument="other"):
    """A tensor without dimensions of a number, in the dtype that the number has beside a tensor."""
    dtype = dtypes.number_dtype(value, beside.dtype)
    dtypes.checked_number(name, argument, value, dtype)
    return buffers.tensor(value, dtype, beside.device)


def operand(name, argument, value, beside):
    """A tensor of any operand; a TypeError if it is none."""
    made = as_tensor(value, beside)
    if made is not None:
        return made
    plain = number(value)
    if plain is None:
        raise wrong(name, argument, "a Tensor or a number", value)
    return scalar(name, plain, beside, argument)


def operands(name, first, second):
    """Tensors of two operands, of which one may be a number."""
    both = {"input": first, "other": second}
    known = [value for value in both.values() if isinstance(value, (Tensor, Parameter))]
    known = known or [buffers.tensor(value) for value in both.values() if is_array(value)]
    if not known:
        raise wrong(name, "input", "a Tensor", first)
    beside = as_tensor(known[0], None)
    return tuple(operand(name, argument, value, beside) for argument, value in both.items())


def _with_number(name):
    """Arithmetic of a tensor and a number: C's function with a double where that gives PyTorch's dtype and values."""
    apply, with_tensor = getattr(_generated, f"{name}_scalar"), getattr(_generated, name)

    def made(input, value):
        kind = type(value)
        if kind is float:  # beside integers a float makes a float, which C refuses for fractions only
            is_exact = not value.is_integer() or input.dtype in dtypes.FLOATS
        elif kind is bool:
            is_exact = input.dtype != Dtype.BOOL
        else:
            is_exact = -_SMALL <= value < _SMALL or input.dtype in dtypes.FLOATS
        if is_exact:
            try:
                return apply(input, value)
            except InvalidArgumentError:
                if kind is not float or input.dtype in dtypes.FLOATS:
                    raise
        return with_tensor(input, scalar(name, value, input))

    return made


def _compared_with_number(name):
    """A comparison of a tensor and a number, which is exact for every int."""
    apply, with_tensor = getattr(_generated, f"{name}_scalar"), getattr(_generated, name)

    def made(input, value):
        if type(value) is int and abs(value) > EXACT and input.dtype not in dtypes.FLOATS:
            if -(2**63) <= value < 2**63:
                return with_tensor(input, buffers.tensor(value, Dtype.I64, input.device))
            value = math.copysign(math.inf, value)  # beyond every element
        return apply(input, value)

    return made


def _with_scalar(name):
    with_tensor = getattr(_generated, name)
    return lambda input, value: with_tensor(input, scalar(name, value, input))


# Functions of a tensor and a number, by the names of those of two tensors.
WITH_NUMBER = {
    **{name: _with_number(name) for name in ("add", "sub", "mul")},
    **{name: _compared_with_number(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: _with_scalar(name) for name in ("maximum", "minimum")},
    "div": _generated.div_scalar,  # a float, so that the number need not fit into the dtype
}
