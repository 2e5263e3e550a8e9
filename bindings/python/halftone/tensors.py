"""A tensor in Python's idiom: operators, indexing, properties, and conversions to Python's own objects."""

from . import arithmetic, buffers, division, indexing, inplace
from . import halftone as _generated
from .checks import NUMBERS, number
from .dtypes import BITS, FLOATS
from .enums import DeviceType, Dtype, Status
from .errors import HalftoneException
from .halftone import Tensor
from .operands import WITH_NUMBER, as_tensor, scalar
from .registry import method


def _operator(name, with_tensor, apply_number):
    def operator(self, other):
        if isinstance(other, Tensor):
            return with_tensor(self, other)
        plain = other if type(other) in NUMBERS else number(other)  # without a call, since it is the usual case
        if plain is not None:
            return apply_number(self, plain)
        made = as_tensor(other, self)
        return NotImplemented if made is None else with_tensor(self, made)

    operator.__name__ = name
    setattr(Tensor, name, operator)


def _reversed(name, with_tensor, apply_number):
    """The operator whose left operand is a number or an array."""
    _operator(name, lambda self, other: with_tensor(other, self), apply_number)


def _as_scalar(apply, name):
    return lambda self, value: apply(scalar(name, value, self), self)


def _subtract_from(self, value):
    """value - self: integers stay integers beside an int, and become floats beside a float."""
    if isinstance(value, int):
        return WITH_NUMBER["add"](_generated.neg(self), value)
    return _generated.rescale(self, -1.0, value)


def _divide_by(self, value):
    """value / self, as PyTorch computes it."""
    return _generated.mul_scalar(_generated.reciprocal(self), value)


for _name in ("add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge"):
    _operator(f"__{_name}__", getattr(_generated, _name), WITH_NUMBER[_name])
_operator("__truediv__", _generated.div, WITH_NUMBER["div"])
_operator("__floordiv__", division.floor_divide, division.floor_divide)
_operator("__mod__", division.remainder, division.remainder)
_operator("__pow__", arithmetic.pow, arithmetic.pow)
_reversed("__radd__", _generated.add, WITH_NUMBER["add"])
_reversed("__rmul__", _generated.mul, WITH_NUMBER["mul"])
_reversed("__rsub__", _generated.sub, _subtract_from)
_reversed("__rtruediv__", _generated.div, _divide_by)
_reversed("__rfloordiv__", division.floor_divide, _as_scalar(division.floor_divide, "floor_divide"))
_reversed("__rmod__", division.remainder, _as_scalar(division.remainder, "remainder"))
_reversed("__rpow__", arithmetic.pow, _as_scalar(arithmetic.pow, "pow"))

# numpy leaves its operators to the right operand if that has a higher priority.
Tensor.__array_priority__ = 1000
# A tensor compares by elements, so it is hashed by identity.
Tensor.__hash__ = object.__hash__
Tensor.__neg__ = lambda self: _generated.neg(self)
Tensor.__pos__ = lambda self: self
Tensor.__abs__ = lambda self: _generated.abs(self)


def _check_bits(symbol, dtype):
    if dtype not in BITS and dtype != Dtype.BOOL:
        raise TypeError(f"{symbol}: operands must be integers or bools, got {dtype}")


def _of_bits(symbol, apply):
    def operator(self, other):
        plain = number(other)
        made = as_tensor(other, self) if plain is None else scalar(symbol, plain, self)
        if made is None:
            return NotImplemented
        _check_bits(symbol, self.dtype)
        _check_bits(symbol, made.dtype)
        return apply(self, made)

    return operator


for _name, _symbol in (("and", "&"), ("or", "|"), ("xor", "^")):
    _made = _of_bits(_symbol, getattr(_generated, f"bitwise_{_name}"))
    setattr(Tensor, f"__{_name}__", _made)
    setattr(Tensor, f"__r{_name}__", _made)
    setattr(Tensor, f"__i{_name}__", inplace.operator_of(_made, f"{_symbol}="))


@method
def __invert__(self):
    """The opposite bool; of an integer all bits are inverted, which is -1 - x."""
    _check_bits("~", self.dtype)
    return _generated.bitwise_not(self)


@method
def __matmul__(self, other):
    made = as_tensor(other, self)
    return NotImplemented if made is None else _generated.matmul(self, made)


@method
def __rmatmul__(self, other):
    made = as_tensor(other, self)
    return NotImplemented if made is None else _generated.matmul(made, self)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Tensor, f"__i{_name}__", inplace.operator("div" if _name == "truediv" else _name))
for _name, _symbol, _function in (("floordiv", "//=", division.floor_divide), ("mod", "%=", division.remainder),
                                  ("pow", "**=", arithmetic.pow)):  # fmt: skip
    setattr(Tensor, f"__i{_name}__", inplace.operator_of(_function, _symbol))

Tensor.__getitem__ = indexing.read
Tensor.__setitem__ = indexing.write


@method
def __len__(self):
    if not self.shape:
        raise TypeError("a tensor without dimensions has no length")
    return self.shape[0]


@method
def __iter__(self):
    return (self[index] for index in range(len(self)))


@method
def __reversed__(self):
    return _generated.flip(self, (0,)) if self.shape else self


@method
def __contains__(self, item):
    found = self == item
    return found is not NotImplemented and isinstance(found, Tensor) and bool(_generated.any(found).item())


_item = Tensor.item


@method
def item(self):
    """The value of a tensor with one element, as a bool, an int or a float; waits for the device."""
    value = _item(self)
    dtype = self.dtype
    if dtype in BITS:
        return int(value) if abs(value) < 2**53 else buffers.numbers(self)[0]
    return bool(value) if dtype == Dtype.BOOL else value


@method
def __bool__(self):
    return bool(_item(self))


@method
def __float__(self):
    return float(self.item())


@method
def __int__(self):
    return int(self.item())


@method
def __index__(self):
    if self.dtype in FLOATS or self.numel() != 1:
        raise TypeError(f"an index must be an integer tensor with one element, got {self.dtype} of shape {self.shape}")
    return int(self.item())


@method
def __repr__(self):
    try:
        return self.format()
    except Exception as error:  # a closed tensor still has a name
        return f"<Tensor: {error}>"


@method
def __format__(self, spec):
    return str(self) if not spec else format(self.item(), spec)


def _nested(values, shape):
    return [_nested(values, shape[1:]) for _ in range(shape[0])] if shape else next(values)


@method
def tolist(self):
    """All elements as Python's numbers, in lists nested as the dimensions are."""
    return _nested(iter(buffers.numbers(self)), self.shape)


@method
def numpy(self):
    """A numpy array over the tensor's memory, without a copy. The array keeps the memory: the tensor may be closed, and
    its scope() may end.
    """
    return buffers.shared_array(self)


@method
def __array__(self, dtype=None, copy=None):
    shared = buffers.shared_array(self)
    if copy is False and dtype not in (None, shared.dtype):
        raise ValueError(f"an array of {dtype} needs a copy of a tensor of {self.dtype}")
    return shared.astype(dtype or shared.dtype, copy=bool(copy) or dtype not in (None, shared.dtype))


@method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if copy:
        raise BufferError("a copy is made by clone()")
    return _generated.make_capsule(self, max_version is not None and max_version[0] >= 1)


@method
def __dlpack_device__(self):
    """The numbers of DLPack's standard; 12 is any device that it does not name."""
    return ({DeviceType.CPU: 1, DeviceType.CUDA: 2}.get(self.device.kind, 12), 0)


Tensor.read = buffers.read


def _property(name, getter, setter=None, documentation=None):
    setattr(Tensor, name, property(getter, setter, doc=documentation or getter.__doc__))


_grad = Tensor.grad
# Must match capi/src/autograd/autograd.cpp, which reports a gradient of a failed backward by another text.
_NO_GRADIENT = ("tensor has no gradient", "tensor is no leaf")


def _get_grad(self):
    """The gradient of a leaf; None before the first backward, and for other tensors."""
    try:
        return _grad(self)
    except HalftoneException as error:
        if error.status == Status.STATE and any(text in str(error) for text in _NO_GRADIENT):
            return None
        raise


def _set_grad(self, value):
    if value is not None:
        raise AttributeError("grad: a tensor's gradient can be set to None alone; Parameter.set_grad() sets others")
    self.zero_grad()


_property("shape", Tensor.shape)
_property("strides", Tensor.strides)
_property("dtype", Tensor.dtype)
_property("device", Tensor.device)
_property("grad", _get_grad, _set_grad)
_property("requires_grad", Tensor.requires_grad, Tensor.set_requires_grad)
_property("ndim", lambda self: len(self.shape), documentation="The number of dimensions.")
_property("mT", lambda self: _generated.transpose(self, -2, -1), documentation="The last two dimensions exchanged.")
_property("T", lambda self: _generated.permute(self, tuple(reversed(range(self.ndim)))),
          documentation="The dimensions in reverse order: the transpose of a matrix.")
_property("data", lambda self: self.detach(), documentation="The same memory without the recorded operations.")
_property("is_leaf", inplace.is_leaf)
_property("is_cuda", lambda self: self.device.kind == DeviceType.CUDA, documentation="True for a tensor of a GPU.")
