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

_EXACT = 2**53  # C receives numbers as doubles
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


def scalar(name, value, beside):
    """A tensor without dimensions of a number, in the dtype that the number has beside a tensor."""
    dtype = dtypes.number_dtype(value, beside.dtype)
    dtypes.checked_number(name, "other", value, dtype)
    return buffers.tensor(value, dtype, beside.device)


def operand(name, argument, value, beside):
    """A tensor of any operand; a TypeError if it is none."""
    made = as_tensor(value, beside)
    if made is not None:
        return made
    plain = number(value)
    if plain is None:
        raise wrong(name, argument, "a Tensor or a number", value)
    return scalar(name, plain, beside)


def operands(name, first, second):
    """Tensors of two operands, of which one may be a number."""
    both = {"input": first, "other": second}
    known = [value for value in both.values() if isinstance(value, (Tensor, Parameter))]
    known = known or [buffers.tensor(value) for value in both.values() if is_array(value)]
    if not known:
        raise wrong(name, "input", "a Tensor", first)
    beside = as_tensor(known[0], None)
    return tuple(operand(name, argument, value, beside) for argument, value in both.items())


def _is_exact(input, value):
    """True if arithmetic with a double gives PyTorch's dtype and values."""
    kind = type(value)
    if kind is float:  # beside integers a float makes a float, which C refuses for fractions only
        return not value.is_integer() or input.dtype in dtypes.FLOATS
    if kind is bool:
        return input.dtype != Dtype.BOOL
    return -_SMALL <= value < _SMALL or input.dtype in dtypes.FLOATS


def with_number(name, input, value):
    """Arithmetic of a tensor and a number: C's function with a double where that is exact."""
    if _is_exact(input, value):
        try:
            return getattr(_generated, name + "_scalar")(input, value)
        except InvalidArgumentError:
            if type(value) is not float or input.dtype in dtypes.FLOATS:
                raise
    return getattr(_generated, name)(input, scalar(name, value, input))


def compared_with_number(name, input, value):
    """A comparison of a tensor and a number, which is exact for every int."""
    if type(value) is int and abs(value) > _EXACT and input.dtype not in dtypes.FLOATS:
        if -(2**63) <= value < 2**63:
            return getattr(_generated, name)(input, buffers.tensor(value, Dtype.I64, input.device))
        value = math.copysign(math.inf, value)  # beyond every element
    return getattr(_generated, name + "_scalar")(input, value)
