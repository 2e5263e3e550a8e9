"""PyTorch's names of dtypes, the default dtype, and the limits of each dtype."""

from .checks import wrong
from .enums import Dtype, from_name

CONSTANTS = {
    "float64": Dtype.F64, "double": Dtype.F64, "float32": Dtype.F32, "float": Dtype.F32, "float16": Dtype.F16,
    "half": Dtype.F16, "bfloat16": Dtype.BF16, "float8_e4m3fn": Dtype.F8E4M3, "float8_e5m2": Dtype.F8E5M2,
    "int64": Dtype.I64, "long": Dtype.I64, "int32": Dtype.I32, "int": Dtype.I32, "int16": Dtype.I16,
    "short": Dtype.I16, "int8": Dtype.I8, "uint8": Dtype.U8, "bool": Dtype.BOOL,
}  # fmt: skip
# `from halftone import *` must not replace Python's own types.
TYPES_OF_PYTHON = ("bool", "float", "int")
FLOATS = frozenset((Dtype.F64, Dtype.F32, Dtype.F16, Dtype.BF16))
SHORT_FLOATS = frozenset((Dtype.F16, Dtype.BF16))
BITS = {Dtype.I64: 64, Dtype.I32: 32, Dtype.I16: 16, Dtype.I8: 8, Dtype.U8: 8}
# Python's types mean the dtypes that hold all of their values.
_TYPES = {bool: Dtype.BOOL, int: Dtype.I64, float: Dtype.F64}
_default = Dtype.F32


def dtype_of(function, value):
    """The dtype that an argument names: a Dtype, its number or name, a type of Python, or a dtype of numpy."""
    if isinstance(value, Dtype):
        return value
    if isinstance(value, str):
        return from_name("Dtype", value)
    if isinstance(value, type) and value in _TYPES:
        return _TYPES[value]
    if type(value) is int and value in Dtype._value2member_map_:
        return Dtype(value)
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    name = name.rstrip("_") if isinstance(name, str) else None  # numpy.bool_
    if name in CONSTANTS and name not in ("int", "float"):
        return CONSTANTS[name]
    raise wrong(function, "dtype", "a dtype, such as halftone.float32 or 'f32'", value)


def optional_dtype(function, value):
    """As dtype_of, but None stays None."""
    return None if value is None else dtype_of(function, value)


def get_default_dtype():
    """The dtype of new tensors for which no other one is named; f32 at first."""
    return _default


def set_default_dtype(d):
    """Chooses the dtype of new tensors for which no other one is named: f64, f32, f16 or bf16."""
    global _default
    chosen = dtype_of("set_default_dtype", d)
    if chosen not in FLOATS:
        raise ValueError(f"set_default_dtype: d must be f64, f32, f16 or bf16, got {chosen}")
    _default = chosen


def number_dtype(number, beside):
    """The dtype of a number beside a tensor of the dtype `beside`: as in PyTorch only a number of a higher kind, an
    integer beside bools or a float beside integers, changes it.
    """
    if isinstance(number, bool):
        return beside
    if isinstance(number, int):
        return Dtype.I64 if beside == Dtype.BOOL else beside
    return beside if beside in FLOATS else _default


def limits(dtype):
    """The smallest and the largest number of an integer dtype."""
    bits = BITS[dtype]
    return (0, 2**bits - 1) if dtype == Dtype.U8 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def checked_number(function, argument, number, dtype):
    """The number, if it fits into the dtype; an OverflowError otherwise."""
    if dtype in BITS and isinstance(number, int):
        low, high = limits(dtype)
        if not low <= number <= high:
            raise OverflowError(f"{function}: {argument} must be in [{low}, {high}] for {dtype}, got {number}")
    return number


class finfo:
    """The limits of a float dtype: bits, eps, max, min, tiny (the smallest normal number) and its dtype.

        halftone.finfo(halftone.bfloat16).max
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal", "tiny")
    # Bits, bits of the fraction, and the largest exponent of two.
    _FORMATS = {Dtype.F64: (64, 52, 1023), Dtype.F32: (32, 23, 127), Dtype.F16: (16, 10, 15),
                Dtype.BF16: (16, 7, 127), Dtype.F8E5M2: (8, 2, 15)}  # fmt: skip

    def __init__(self, dtype=None):
        self.dtype = _default if dtype is None else dtype_of("finfo", dtype)
        if self.dtype == Dtype.F8E4M3:  # the largest number has a fraction of 1.75, since 1.875 is NaN
            self.bits, self.eps, self.max, self.tiny = 8, 2.0**-3, 448.0, 2.0**-6
        elif self.dtype in self._FORMATS:
            self.bits, fraction, exponent = self._FORMATS[self.dtype]
            self.eps = 2.0**-fraction
            self.max = (2.0 - self.eps) * 2.0**exponent
            self.tiny = 2.0 ** (1 - exponent)
        else:
            raise TypeError(f"finfo: dtype must be a float dtype, got {self.dtype}; use iinfo")
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self):
        return f"finfo(dtype={self.dtype}, bits={self.bits}, eps={self.eps}, max={self.max}, tiny={self.tiny})"


class iinfo:
    """The limits of an integer dtype: bits, min, max and its dtype."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype):
        self.dtype = dtype_of("iinfo", dtype)
        if self.dtype not in BITS:
            raise TypeError(f"iinfo: dtype must be an integer dtype, got {self.dtype}")
        self.bits = BITS[self.dtype]
        self.min, self.max = limits(self.dtype)

    def __repr__(self):
        return f"iinfo(dtype={self.dtype}, bits={self.bits}, min={self.min}, max={self.max})"
