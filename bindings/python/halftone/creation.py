"""Functions that make tensors, under PyTorch's names. Without a dtype a tensor has the default one, f32 at first, and
without a device it is on the default device, the CPU.

    halftone.zeros(2, 3), halftone.randn([2, 3], dtype="bf16"), halftone.arange(5)
"""

import math

from . import buffers, dtypes
from . import halftone as _generated
from .checks import integer, integers, is_array, needed_number, sizes, tensor
from .devices import device_of
from .enums import Dtype
from .halftone import Context, Tensor
from .registry import function, method

_EXACT = 2**53  # the largest range of integers that doubles hold


def _place(name, dtype, device):
    return device_of(name, device), dtypes.get_default_dtype() if dtype is None else dtypes.dtype_of(name, dtype)


def _finished(made, requires_grad):
    if requires_grad:
        made.set_requires_grad()
    return made


def _of_sizes(name, make, documentation):
    """A function of sizes; `make` gets a device, a dtype and a shape."""

    def made(*given, size=None, dtype=None, device=None, requires_grad=False):
        return _finished(make(*_place(name, dtype, device), sizes(name, "size", given, size)), requires_grad)

    made.__name__ = name
    made.__doc__ = documentation + " The sizes are arguments or one sequence."
    function(made)


def _like(name, input, dtype, device):
    source = tensor(name, "input", input)
    place = source.device if device is None else device_of(name, device)
    return place, source.dtype if dtype is None else dtypes.dtype_of(name, dtype), source.shape


def _of_tensor(name, make, documentation):
    def made(input, *, dtype=None, device=None, requires_grad=False):
        return _finished(make(*_like(name, input, dtype, device)), requires_grad)

    made.__name__ = name
    made.__doc__ = documentation + " It has the shape of input, and its dtype and device unless others are named."
    function(made)


def _new_of_sizes(name, make, documentation):
    def made(self, *given, size=None, dtype=None, device=None, requires_grad=False):
        place, dtype, _ = _like(name, self, dtype, device)
        return _finished(make(place, dtype, sizes(name, "size", given, size)), requires_grad)

    made.__name__ = name
    made.__doc__ = documentation + " It has the dtype and the device of this tensor unless others are named."
    method(made)


_CONTENTS = {"zeros": (Tensor.zeros, "zeros"), "ones": (Tensor.ones, "ones"), "empty": (Tensor, "unspecified content"),
             "rand": (_generated.rand, "random numbers, uniform in [0, 1)"),
             "randn": (_generated.randn, "random numbers, normal with mean 0 and deviation 1")}  # fmt: skip
for _name, (_make, _content) in _CONTENTS.items():
    _of_sizes(_name, _make, f"Makes a tensor of {_content}.")
    _of_tensor(f"{_name}_like", _make, f"Makes a tensor of {_content}.")
    if _name in ("zeros", "ones", "empty"):
        _new_of_sizes(f"new_{_name}", _make, f"Makes a tensor of {_content}.")


def _full(name, place, dtype, shape, value):
    """A tensor of one number, of which an integer keeps all digits."""
    dtypes.checked_number(name, "fill_value", value, dtype)
    if isinstance(value, int) and abs(value) > _EXACT and dtype not in dtypes.FLOATS:
        return buffers.tensor(value, dtype, place).broadcast_to(shape).clone()
    return Tensor.full(place, dtype, shape, value)


@function
def full(size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of one number. Without a dtype an int gives i64, a bool bool, and a float the default dtype."""
    value = needed_number("full", "fill_value", fill_value)
    if dtype is None:
        dtype = dtypes.number_dtype(value, Dtype.BOOL)
    place, dtype = _place("full", dtype, device)
    return _finished(_full("full", place, dtype, integers("full", "size", size), value), requires_grad)


def _integer_rand(name, shape, low, high, dtype, device):
    """Two draws have 48 random bits together, so the chances of two numbers differ by at most 2^-48."""
    count = high - low
    if not 0 < count <= 2**40:
        raise ValueError(f"{name}: high must be above low, by at most 2^40, got low={low} and high={high}")
    fine, coarse = (_generated.rand(device, Dtype.F64, shape) for _ in range(2))
    drawn = _generated.add(coarse, _generated.mul_scalar(fine, 2.0**-24))
    whole = _generated.cast(_generated.floor(_generated.mul_scalar(drawn, count)), Dtype.I64)
    return _generated.cast(_generated.add_scalar(whole, low), dtype)


@function
def randint(low, high=None, size=None, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of random integers from low to high - 1, i64 unless a dtype is named.

        halftone.randint(10, (2, 3)), halftone.randint(5, 10, (2, 3))
    """
    if size is None:
        low, high, size = 0, low, high
    low, high = integer("randint", "low", low), integer("randint", "high", high)
    place, dtype = _place("randint", Dtype.I64 if dtype is None else dtype, device)
    return _finished(_integer_rand("randint", integers("randint", "size", size), low, high, dtype, place),
                     requires_grad)


@function
def randperm(n, *, dtype=None, device=None):
    """Makes a tensor of the integers from 0 to n - 1 in random order, i64 unless a dtype is named."""
    made = _generated.randperm(device_of("randperm", device), integer("randperm", "n", n))
    return made if dtype is None else _generated.cast(made, dtypes.dtype_of("randperm", dtype))


@function
def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of start, start + step and so on, up to but without end; arange(end) begins at 0. Without a dtype
    it is i64 if all three are ints, else the default dtype.
    """
    if end is None:
        start, end = 0, start
    values = [needed_number("arange", name, value) for name, value in (("start", start), ("end", end), ("step", step))]
    if dtype is None and all(isinstance(value, int) for value in values):
        dtype = Dtype.I64
    return _finished(_generated.arange(*_place("arange", dtype, device), *values), requires_grad)


@function
def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of so many equally spaced numbers from start to end, both included."""
    first, last = needed_number("linspace", "start", start), needed_number("linspace", "end", end)
    count, (place, dtype) = integer("linspace", "steps", steps), _place("linspace", dtype, device)
    if dtype in dtypes.BITS:  # as PyTorch, which drops the fractions of both ends, too
        first, last = (int(value) if math.isfinite(value) else value for value in (first, last))
    return _finished(_generated.linspace(place, dtype, first, last, count), requires_grad)


@function
def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """Makes a matrix [n, m] with ones on the main diagonal and zeros elsewhere; m is n if it is left out."""
    rows = integer("eye", "n", n)
    columns = rows if m is None else integer("eye", "m", m)
    return _finished(_generated.eye(*_place("eye", dtype, device), rows, columns), requires_grad)


@function
def as_tensor(data, dtype=None, device=None):
    """Makes a tensor of data, without a copy if that is possible: a tensor of that dtype and device is returned itself,
    and a writable numpy array shares its memory.
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if is_array(data):
        try:
            shared = buffers.from_buffer(data, device)
        except (BufferError, TypeError):  # read-only, negative strides, or elements without a dtype
            return buffers.tensor(data, dtype, device)
        return shared.to(dtype=dtype)
    return buffers.tensor(data, dtype, device)


@function
def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of one number, with the shape of input, and its dtype and device unless others are named."""
    value = needed_number("full_like", "fill_value", fill_value)
    return _finished(_full("full_like", *_like("full_like", input, dtype, device), value), requires_grad)


@function
def randint_like(input, low, high=None, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of random integers from low to high - 1, with the shape, dtype and device of input."""
    if high is None:
        low, high = 0, low
    place, dtype, shape = _like("randint_like", input, dtype, device)
    bounds = integer("randint_like", "low", low), integer("randint_like", "high", high)
    return _finished(_integer_rand("randint_like", shape, *bounds, dtype, place), requires_grad)


@method
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor of one number, with the dtype and the device of this tensor unless others are named."""
    value = needed_number("new_full", "fill_value", fill_value)
    place, dtype, _ = _like("new_full", self, dtype, device)
    return _finished(_full("new_full", place, dtype, integers("new_full", "size", size), value), requires_grad)


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """Makes a tensor with a copy of data, with the dtype and the device of this tensor unless others are named."""
    place, dtype, _ = _like("new_tensor", self, dtype, device)
    return buffers.tensor(data, dtype, place, requires_grad)


@function
def manual_seed(seed):
    """Begins the random numbers of the default context anew with this seed. A negative seed counts from 2^64."""
    number = integer("manual_seed", "seed", seed)
    if not -(2**63) <= number < 2**64:
        raise OverflowError(f"manual_seed: seed must have at most 64 bits, got {number}")
    Context.default_context().set_seed(number % 2**64)
