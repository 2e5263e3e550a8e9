"""A tensor in Python's idiom: operators, indexing, properties, and conversions to Python's own objects."""

from . import buffers
from . import halftone as _generated
from .enums import DeviceType
from .halftone import Tensor

_NUMBER = (int, float)


def _method(function):
    """Adds a function to Tensor under its own name."""
    setattr(Tensor, function.__name__, function)
    return function


def _binary(name, with_tensor, with_number):
    def operator(self, other):
        if isinstance(other, Tensor):
            return with_tensor(self, other)
        return with_number(self, other) if isinstance(other, _NUMBER) else NotImplemented

    operator.__name__ = name
    setattr(Tensor, name, operator)


def _subtract_from(self, number):
    """number - self: integers stay integers for an integer, and become f32 for another number."""
    if isinstance(number, int):
        return _generated.add_scalar(_generated.neg(self), number)
    return _generated.rescale(self, -1.0, number)


for _name in ("add", "sub", "mul", "pow", "eq", "ne", "lt", "le", "gt", "ge"):
    _binary(f"__{_name}__", getattr(_generated, _name), getattr(_generated, _name + "_scalar"))
_binary("__truediv__", _generated.div, _generated.div_scalar)
_binary("__radd__", _generated.add, _generated.add_scalar)
_binary("__rmul__", _generated.mul, _generated.mul_scalar)
_binary("__rsub__", None, _subtract_from)
_binary("__rtruediv__", None, lambda self, number: _generated.mul_scalar(_generated.reciprocal(self), number))

# A tensor compares by elements, so it is hashed by identity.
Tensor.__hash__ = object.__hash__
Tensor.__neg__ = lambda self: _generated.neg(self)
Tensor.__abs__ = lambda self: _generated.abs(self)
Tensor.__invert__ = lambda self: _generated.logical_not(self)


@_method
def __matmul__(self, other):
    return _generated.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _index(self, key, dim):
    """The tensor for one index of one dimension, and whether the dimension is left."""
    if isinstance(key, slice):
        size = self.shape[dim]
        start, stop, step = key.indices(size)
        if step < 1:
            raise ValueError("a step below 1 is not supported; use flip")
        return _generated.slice(self, dim, start, max(start, stop), step), True
    position = key.__index__()
    size = self.shape[dim]
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of range for dimension {dim} of size {size}")
    position %= size
    return _generated.squeeze(_generated.slice(self, dim, position, position + 1, 1), dim), False


@_method
def __getitem__(self, key):
    """Integers, slices, `...` and None, as numpy reads them: a view. A tensor of indices selects rows: a copy."""
    if isinstance(key, Tensor):
        return _generated.index_select(self, 0, key)
    keys = key if isinstance(key, tuple) else (key,)
    missing = len(self.shape) - sum(item is not None and item is not Ellipsis for item in keys)
    if missing < 0:
        raise IndexError(f"{len(keys)} indices for {len(self.shape)} dimensions")
    dim, result = 0, self
    for item in keys:
        if item is Ellipsis:
            dim += missing
        elif item is None:
            result = _generated.unsqueeze(result, dim)
            dim += 1
        else:
            result, stays = _index(result, item, dim)
            dim += stays
    return result


@_method
def __len__(self):
    if not self.shape:
        raise TypeError("a tensor without dimensions has no length")
    return self.shape[0]


@_method
def __iter__(self):
    return (self[index] for index in range(len(self)))


@_method
def __bool__(self):
    return bool(self.item())


@_method
def __float__(self):
    return float(self.item())


@_method
def __int__(self):
    return int(self.item())


@_method
def __repr__(self):
    try:
        return self.format()
    except Exception as error:  # a closed tensor still has a name
        return f"<Tensor: {error}>"


def _nested(values, shape):
    return [_nested(values, shape[1:]) for _ in range(shape[0])] if shape else next(values)


@_method
def tolist(self):
    """All elements as Python's numbers, in lists nested as the dimensions are."""
    return _nested(iter(buffers.numbers(self)), self.shape)


@_method
def numpy(self):
    """A numpy array over the tensor's memory, without a copy. The array keeps the memory: the tensor may be closed, and
    its scope() may end.
    """
    return buffers.shared_array(self)


@_method
def __array__(self, dtype=None, copy=None):
    shared = buffers.shared_array(self)
    return shared.astype(dtype or shared.dtype, copy=bool(copy) or dtype not in (None, shared.dtype))


@_method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if copy:
        raise BufferError("a copy is made by clone()")
    return _generated.make_capsule(self, max_version is not None and max_version[0] >= 1)


@_method
def __dlpack_device__(self):
    """The numbers of DLPack's standard; 12 is any device that it does not name."""
    return ({DeviceType.CPU: 1, DeviceType.CUDA: 2}.get(self.device.kind, 12), 0)


_to = Tensor.to


@_method
def to(self, dtype=None, device=None):
    """The tensor in another dtype or on another device; the tensor itself if nothing changes.
    """
    return _to(self, device, self.dtype if dtype is None else dtype)


Tensor.read = buffers.read


def _property(name, getter, setter=None, documentation=None):
    setattr(Tensor, name, property(getter, setter, doc=documentation or getter.__doc__))


_property("shape", Tensor.shape)
_property("strides", Tensor.strides)
_property("dtype", Tensor.dtype)
_property("device", Tensor.device)
_property("grad", Tensor.grad)
_property("requires_grad", Tensor.requires_grad, Tensor.set_requires_grad)
_property("ndim", lambda self: len(self.shape), documentation="The number of dimensions.")
_property("T", lambda self: _generated.transpose(self, -2, -1), documentation="The last two dimensions exchanged.")
