"""Data of Python in and out of tensors: buffers, numpy arrays, DLPack capsules and nested lists."""

import sys
from array import array

from . import dtypes
from . import halftone as _generated
from .checks import is_array, is_numpy_number, wrong
from .devices import default_device, device_of  # noqa: F401: other modules get default_device here
from .enums import DeviceType, Dtype

# The letters of the struct module, and the dtypes whose elements have their layout.
_LETTERS = {"d": "F64", "f": "F32", "e": "F16", "q": "I64", "l": "I64", "i": "I32", "h": "I16", "b": "I8", "B": "U8",
            "?": "BOOL"}
_DTYPES = {letter: Dtype[name] for letter, name in _LETTERS.items()}
FORMATS = {dtype: letter for letter, dtype in reversed(list(_DTYPES.items()))}
# array has no letter for these.
_MEMORY = {Dtype.BOOL: "B", Dtype.F16: "H"}
# Numbers without a sign have no dtype of their own; a copy is wider, so that it holds all of them.
_WIDER = {"H": Dtype.I32, "I": Dtype.I64, "L": Dtype.I64, "Q": Dtype.I64}
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}  # array's letter for so many bytes
# numpy dtypes of other packages, whose elements have no format.
_NAMED = {"bfloat16": Dtype.BF16, "float8_e4m3fn": Dtype.F8E4M3, "float8_e5m2": Dtype.F8E5M2}
_OTHER_ORDERS = ">!" if sys.byteorder == "little" else "<"
_DL_CPU = 1


def _name_of(data):
    return getattr(getattr(data, "dtype", None), "name", type(data).__name__)


def _wrong_data(data):
    return wrong("tensor", "data", "numbers, lists of numbers or an object with a buffer", data)


def _view(data):
    """The buffer of data; a TypeError that names the way out if it has none."""
    try:
        return memoryview(data)
    except ValueError:
        no_format = True  # numpy has such elements
    except TypeError:
        no_format = _name_of(data) in _NAMED
    if no_format:
        copies = "halftone.tensor() copies them" if _name_of(data) in _NAMED else "convert them first"
        raise TypeError(f"elements of {_name_of(data)} have no format; {copies}")
    if hasattr(data, "__dlpack__"):
        raise TypeError(f"a {type(data).__name__} has no buffer; halftone.from_dlpack() may share its memory")
    raise _wrong_data(data)


def _letter(view):
    return view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>!")


def dtype_of(view):
    letter = _letter(view)
    if letter in _DTYPES:
        return _DTYPES[letter]
    advice = "; convert them first, for instance by astype('float32')"
    if view.format.startswith("T{"):
        advice = "; take one field of them, such as data['name']"
    elif letter in _WIDER:
        advice = f"; halftone.tensor() copies them as {_WIDER[letter].name.lower()}"
    elif view.format[:1] in _OTHER_ORDERS and letter[1:] in (*_DTYPES, *_WIDER):
        advice = ", since they are in another byte order; halftone.tensor() copies them"
    raise TypeError(f"elements of format {view.format!r} have no dtype{advice}")


def format_of(dtype):
    """The letter of a dtype; a TypeError for bf16 and the dtypes of 8 bits, which Python has no letter for."""
    if dtype not in FORMATS:
        raise TypeError(f"Python has no elements of {dtype.name.lower()}; convert them: tensor.to('f32')")
    return FORMATS[dtype]


def _flatten(data, shape):
    """The numbers of nested lists, all of which have this shape."""
    is_list = isinstance(data, (list, tuple))
    if is_list != bool(shape):
        raise ValueError("tensor: data has a number beside a list")
    if not is_list:
        return [data]
    if len(data) != shape[0]:
        raise ValueError(f"tensor: data has a list of {len(data)} beside one of {shape[0]}")
    return [value for row in data for value in _flatten(row, shape[1:])]


def _shape(data):
    shape = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        data = data[0] if data else None
    return shape


def _plain(data):
    """Nested lists of Python's numbers, from sequences, tensors and arrays in each other."""
    if isinstance(data, (list, tuple, range)):
        return [_plain(item) for item in data]
    if isinstance(data, _generated.Tensor) or is_array(data):
        return data.tolist()
    return data.item() if is_numpy_number(data) else data


def _usual_dtype(values, wanted):
    """Python's numbers have the digits of f64, which a tensor of f64 must not lose in transit; an integer keeps all of
    its digits.
    """
    for value in values:
        if not isinstance(value, (int, float)):
            raise _wrong_data(value)
    if values and all(isinstance(value, bool) for value in values):
        return Dtype.BOOL
    if values and all(isinstance(value, int) for value in values):
        return Dtype.I64
    return Dtype.F64 if Dtype.F64 in (wanted, dtypes.get_default_dtype()) else Dtype.F32


def _from_numbers(data, device, wanted):
    data = _plain(data)
    shape = _shape(data)
    values = _flatten(data, shape)
    dtype = _usual_dtype(values, wanted)
    letter = _MEMORY.get(dtype) or format_of(dtype)
    try:
        content = array(letter, values)
    except OverflowError:
        raise OverflowError("tensor: data has an int that 64 bits cannot hold") from None
    made = _generated.Tensor.from_bytes(device, dtype, shape, content)
    return made if wanted or dtype not in dtypes.FLOATS else _converted(made, dtypes.get_default_dtype())


def _converted(made, dtype):
    return made if made.dtype == dtype else _generated.cast(made, dtype)


def _copied(data):
    """The dtype, the shape and the bytes of a copy in this machine's byte order; numbers without a sign are wider."""
    if _name_of(data) in _NAMED:
        return _NAMED[_name_of(data)], list(data.shape), data.tobytes()
    view = _view(data)
    dtype, content = _numbers_of(view)
    return dtype, list(view.shape), content


def _numbers_of(view):
    content = view if view.c_contiguous else view.tobytes()
    letter, swaps = view.format.lstrip("@=<>!"), view.format[:1] in _OTHER_ORDERS
    if letter not in _WIDER and not (swaps and letter in _DTYPES):
        return dtype_of(view), content
    numbers = array(_UNSIGNED[view.itemsize])
    numbers.frombytes(bytes(content))
    if swaps:
        numbers.byteswap()
    if letter not in _WIDER:
        return _DTYPES[letter], numbers
    dtype = _WIDER[letter]
    try:
        return dtype, array(format_of(dtype), numbers)
    except OverflowError:
        raise OverflowError(f"a number of format {view.format!r} is above the largest of {dtype}") from None


def tensor(data, dtype=None, device=None, requires_grad=False):
    """Makes a tensor with a copy of data: numbers, nested lists of numbers and tensors, a tensor, or an object with the
    buffer protocol, such as a numpy array.

    Floats become the default dtype (f32), integers i64, booleans bool, and a buffer keeps its dtype, unless `dtype`
    names another. Unsigned numbers of 16 bits become i32, those of 32 and 64 bits i64; one that i64 cannot hold is an
    OverflowError.
    """
    place = device_of("tensor", device)
    dtype = dtypes.optional_dtype("tensor", dtype)
    if isinstance(data, _generated.Tensor):
        made = data.detach().clone()
        made = made.to(dtype=dtype, device=None if device is None else place)
    elif isinstance(data, (int, float, list, tuple, range)):
        made = _from_numbers(data, place, dtype)
    else:
        kept, shape, content = _copied(data)
        made = _generated.Tensor.from_bytes(place, kept, shape, content)
    made = made if dtype is None else _converted(made, dtype)
    if requires_grad:
        made.set_requires_grad()
    return made


def from_buffer(data, device=None):
    """Makes a tensor over the memory of a writable buffer, such as a numpy array, without a copy. The buffer stays
    locked while the tensor or a view of it lives.

    After a change of the memory from outside call mark_written() before the next backward. Memory that is read-only,
    strides that are negative or no number of elements, and elements without a dtype cannot be shared; tensor() copies
    such a buffer.
    """
    view = _view(data)
    dtype = dtype_of(view)
    for is_so, what in ((view.readonly, "is read-only"),
                        (any(stride < 0 for stride in view.strides), "has a negative stride"),
                        (any(stride % view.itemsize for stride in view.strides),
                         "has a stride that is not a number of elements")):
        if is_so:
            raise BufferError(f"the buffer {what}, so its memory cannot be shared; halftone.tensor() copies it")
    strides = [stride // view.itemsize for stride in view.strides]
    return _generated.borrow_buffer(data, device_of("from_buffer", device), dtype, list(view.shape), strides)


from_numpy = from_buffer


def from_dlpack(data, device=None):
    """Makes a tensor over the memory of another library's array (its __dlpack__), without a copy."""
    if hasattr(data, "__dlpack_device__") and data.__dlpack_device__()[0] != _DL_CPU:
        raise BufferError("only memory of the CPU can be shared")
    try:
        capsule = data.__dlpack__(max_version=(1, 1))
    except TypeError:  # a producer from before version 1
        capsule = data.__dlpack__()
    return _generated.take_capsule(device_of("from_dlpack", device), capsule)


class _SharedMemory:
    """numpy keeps this object while an array uses the memory, and it keeps the memory itself: the tensor's object may
    be closed, or its scope may end.
    """

    def __init__(self, owner):
        dtype = owner.dtype
        size = _generated.dtype_size(dtype)
        kind = {"?": "b", "e": "f", "f": "f", "d": "f", "B": "u"}.get(format_of(dtype), "i")
        self.memory, address, is_read_only = _generated.share_memory(owner)
        self.__array_interface__ = {
            "version": 3,
            "shape": owner.shape,
            "strides": tuple(stride * size for stride in owner.strides),
            "typestr": ("|" if size == 1 else "<") + kind + str(size),
            "data": (address, is_read_only),
        }


def shared_array(owner):
    import numpy

    if owner.requires_grad:
        raise ValueError("backward would not notice a change of the array; call detach() first")
    if owner.device.kind != DeviceType.CPU:
        raise ValueError(f"the memory is that of {owner.device.name}; tolist() and to(device=...) copy the elements")
    return numpy.asarray(_SharedMemory(owner))


def read(owner, buffer, dtype=None):
    """Copies all elements, in row-major order, into a writable buffer; they are converted to its elements' dtype. With
    `dtype` the bytes of the buffer are elements of it: Python has no format for bf16 and numbers of 8 bits.
    """
    view = memoryview(buffer)
    if view.readonly or not view.c_contiguous:
        raise BufferError("read: the buffer is not writable and contiguous")
    if dtype is None and _letter(view) not in _DTYPES:
        raise TypeError(f"read: elements of format {view.format!r} have no dtype; name one: read(buffer, 'bf16')")
    _generated.read_memory(owner, _DTYPES[_letter(view)] if dtype is None else dtype, buffer)


def numbers(owner):
    """All elements in row-major order, as Python's numbers."""
    dtype = owner.dtype if owner.dtype in FORMATS else Dtype.F32
    if dtype == Dtype.F16:
        dtype = Dtype.F32
    values = array(_MEMORY.get(dtype) or format_of(dtype), bytes(owner.numel() * _generated.dtype_size(dtype)))
    _generated.read_memory(owner, dtype, values)
    return [bool(value) for value in values] if dtype == Dtype.BOOL else values.tolist()
