"""Conversions of a tensor to another dtype or device, and copies of its object."""

from . import dtypes
from . import halftone as _generated
from .checks import wrong
from .devices import device_of
from .enums import DeviceType, Dtype
from .halftone import Device, Tensor
from .inplace import is_leaf
from .registry import method

_to = Tensor.to


def _is_device(value):
    """True for a device, or for its name: no dtype has a name like "cpu" or "cuda:0"."""
    if not isinstance(value, str):
        return isinstance(value, Device)
    try:
        dtypes.dtype_of("to", value)
    except ValueError:
        return True
    return False


def _wanted(arguments, dtype, device):
    """The dtype and the device of to()'s arguments, which may come in either order; a tensor has both."""
    for value in arguments:
        if isinstance(value, Tensor):
            dtype, device = value.dtype, value.device
        elif _is_device(value):
            device = value
        elif value is not None:
            dtype = value
    return dtype, device


@method
def to(self, *arguments, dtype=None, device=None, copy=False, non_blocking=False):
    """The tensor in another dtype or on another device, or like another tensor; the tensor itself if nothing changes
    and no copy is asked for.

        x.to("bf16"), x.to(halftone.float64), x.to("cuda"), x.to("cuda:0", "f16"), x.to(other)
    """
    if len(arguments) > 2:
        raise TypeError(f"to: takes at most a device and a dtype, got {len(arguments)} arguments")
    dtype, device = _wanted(arguments, dtype, device)
    own = self.dtype
    place, wanted = None if device is None else device_of("to", device), dtypes.optional_dtype("to", dtype) or own
    made = self if place is None and wanted == own else _to(self, place, wanted)
    is_same = wanted == own and made.device.name == self.device.name
    return made.clone() if copy and is_same else made


def _converter(name, dtype):
    def made(self):
        return _to(self, None, dtype)

    made.__name__ = name
    made.__doc__ = f"The tensor in {dtype}; the tensor itself if it has this dtype."
    method(made)


for _name, _dtype in (("double", Dtype.F64), ("float", Dtype.F32), ("half", Dtype.F16), ("bfloat16", Dtype.BF16),
                      ("long", Dtype.I64), ("int", Dtype.I32), ("short", Dtype.I16), ("char", Dtype.I8),
                      ("byte", Dtype.U8), ("bool", Dtype.BOOL)):  # fmt: skip
    _converter(_name, _dtype)


@method
def cpu(self):
    """The tensor on the CPU; the tensor itself if it is there."""
    return self if self.device.kind == DeviceType.CPU else to(self, device="cpu")


@method
def cuda(self, device=None):
    """The tensor on a GPU, the first one unless another is named; the tensor itself if it is there."""
    return to(self, device="cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)


@method
def _type(self, dtype=None):
    """The tensor in another dtype; without one the name of its dtype."""
    return str(self.dtype) if dtype is None else _to(self, None, dtypes.dtype_of("type", dtype))


@method
def type_as(self, other):
    """The tensor in the dtype of another tensor."""
    if not isinstance(other, Tensor):
        raise wrong("type_as", "other", "a Tensor", other)
    return _to(self, None, other.dtype)


@method
def is_floating_point(self):
    """True if the elements are floats."""
    return self.dtype in dtypes.FLOATS or self.dtype in (Dtype.F8E4M3, Dtype.F8E5M2)


@method
def element_size(self):
    """The bytes of an element."""
    return _generated.dtype_size(self.dtype)


@method
def data_ptr(self):
    """The address of the first element in the memory of the CPU; 0 for an empty tensor."""
    if self.device.kind != DeviceType.CPU:
        raise ValueError(f"data_ptr: the memory is that of {self.device.name}, whose addresses Python does not get")
    return _generated.share_memory(self.detach())[1]


@method
def register_hook(self, hook):
    """Calls the function with the gradient of this tensor in each backward, as add_gradient_hook does."""
    return self.add_gradient_hook(hook)


def _content(self):
    """All elements as bytes in row-major order."""
    content = bytearray(self.numel() * _generated.dtype_size(self.dtype))
    _generated.read_memory(self, self.dtype, content)
    return bytes(content)


def _rebuilt(dtype, shape, content, device, requires_grad):
    """Makes the tensor of a pickle."""
    made = Tensor.from_bytes(device_of("pickle", device), dtype, shape, content)
    return made.requires_grad_() if requires_grad else made


@method
def __reduce_ex__(self, protocol):
    arguments = str(self.dtype), self.shape, _content(self), self.device.name, bool(self.requires_grad)
    return _rebuilt, arguments


@method
def __deepcopy__(self, memo):
    if not is_leaf(self):
        raise RuntimeError("deepcopy: the tensor is a result of recorded operations; copy detach() of it")
    made = self.detach().clone()
    if self.requires_grad:
        made.set_requires_grad()
    memo[id(self)] = made
    return made


@method
def __copy__(self):
    """Another tensor over the same memory."""
    if not is_leaf(self):
        return _generated.reshape(self, self.shape)
    made = self.detach()
    return made.requires_grad_() if self.requires_grad else made
