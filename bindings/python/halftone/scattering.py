"""Writes and sums at indices, under PyTorch's names. Each makes a new tensor, and backward reaches its operands."""

from . import dtypes
from . import halftone as _generated
from .checks import describe, integer, needed_number, number, tensor
from .operands import EXACT, WITH_NUMBER, scalar
from .registry import both

_JOINED = {"add": "sum", "multiply": "prod"}


def _given(name, input, dim, index, **source):
    """The tensors of the arguments, and the dimension."""
    made = tensor(name, "input", input), integer(name, "dim", dim), tensor(name, "index", index)
    return (*made, *(tensor(name, argument, value) for argument, value in source.items()))


@both
def index_add(input, dim, index, source, *, alpha=1):
    """Adds alpha times the slices of source along a dimension at the places of a vector of indices."""
    made = _given("index_add", input, dim, index, source=source)
    if alpha != 1:
        made = (*made[:3], WITH_NUMBER["mul"](made[3], needed_number("index_add", "alpha", alpha)))
    return _generated.index_add(*made)


@both
def index_copy(input, dim, index, source):
    """Writes the slices of source along a dimension at the places of a vector of indices. Of equal indices the last one
    counts.
    """
    return _generated.index_copy(*_given("index_copy", input, dim, index, source=source))


@both
def scatter_add(input, dim, index, src):
    """Adds each element of src along a dimension at an index of its own."""
    return _generated.scatter_add(*_given("scatter_add", input, dim, index, src=src))


@both
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """Joins each element of src with the one of input along a dimension at an index of its own. reduce: "sum", "prod",
    "mean", "amax" or "amin". include_self=False leaves out the element of input.
    """
    given = _given("scatter_reduce", input, dim, index, src=src)
    return _generated.scatter_reduce(*given, reduce, include_self)


def _scattered_number(made, place, index, value, joins):
    if isinstance(value, float) and made.dtype not in dtypes.FLOATS:
        if not value.is_integer():
            raise TypeError(f"scatter: value must be whole for a tensor of {made.dtype}, got {describe(value)}")
        value = int(value)
    plain = dtypes.checked_number("scatter", "value", value, made.dtype)
    if joins is None and abs(plain) <= EXACT:
        return _generated.scatter_scalar(made, place, index, plain)
    filled = _generated.broadcast_to(_generated.cast(scalar("scatter", plain, made, "value"), made.dtype), index.shape)
    return scatter(made, place, index, filled, reduce=joins)


@both
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """Writes each element of src, or one number, along a dimension at an index of its own. Of equal indices the last
    one counts. reduce: None, or "add" or "multiply" to join it with the element of input.
    """
    made = _given("scatter", input, dim, index)
    if (src is None) == (value is None):
        raise TypeError("scatter: give either src or value")
    if reduce is not None and reduce not in _JOINED:
        raise ValueError(f"scatter: reduce must be None, 'add' or 'multiply', got {describe(reduce)}")
    plain = number(src) if value is None else needed_number("scatter", "value", value)
    if plain is not None:
        return _scattered_number(*made, plain, reduce)
    source = tensor("scatter", "src", src)
    if reduce is None:
        return _generated.scatter(*made, source)
    return _generated.scatter_reduce(*made, source, _JOINED[reduce], True)
