"""The enumerations of the C headers, made from the plain integer constants of the generated module."""

import operator
from enum import IntEnum

from . import halftone as _generated
from .texts import TEXTS


class _Enumeration(IntEnum):
    def __str__(self):
        return self.name.lower()


def _collect():
    """A constant of the generated module is called Dtype_BF16."""
    members = {}
    for key, value in vars(_generated).items():
        name, separator, member = key.partition("_")
        if separator and name[:1].isupper() and isinstance(value, int):
            members.setdefault(name, {})[member] = value
    return {name: _made(name, values) for name, values in members.items()}


def _made(name, values):
    kind = _Enumeration(name, values, module=__name__)
    kind.__doc__ = TEXTS[name]
    return kind


ENUMERATIONS = _collect()
globals().update(ENUMERATIONS)
__all__ = sorted(ENUMERATIONS)


def members(name):
    """The members of an enumeration by their values. Called by the wrapper."""
    return ENUMERATIONS[name]._value2member_map_


# Names of numpy and PyTorch.
_DTYPE_NAMES = {"float64": "F64", "double": "F64", "float32": "F32", "float16": "F16", "half": "F16",
                "bfloat16": "BF16", "float8_e4m3fn": "F8E4M3", "float8_e5m2": "F8E5M2", "int64": "I64", "long": "I64",
                "int32": "I32", "int16": "I16", "short": "I16", "int8": "I8", "uint8": "U8",
                "bool_": "BOOL"}


def enumeration(name):
    """The class of a name. Called by the wrapper."""
    return ENUMERATIONS[name]


def from_name(name, member):
    """Finds a member by its name in any case, for arguments such as dtype="bf16". A dtype has the names of numpy and
    PyTorch, too.
    """
    members = ENUMERATIONS[name].__members__
    known_as = _DTYPE_NAMES.get(member.lower(), member) if name == "Dtype" else member
    found = members.get(known_as.upper())
    if found is None:
        known = ", ".join(repr(key.lower()) for key in members)
        raise ValueError(f"{member!r} is no {name}; known are {known}")
    return found


def _dtype_name(given):
    """The name of a dtype of another package: of numpy.float32, numpy.dtype("float32") or torch.float32."""
    if isinstance(given, type):
        return given.__name__ if given.__module__ in ("numpy", "ml_dtypes") else None
    kind = type(given)
    if kind.__name__ == "dtype" and kind.__module__ == "torch":
        return str(given).partition(".")[2]
    return given.name if "dtype" in kind.__name__.lower() and isinstance(getattr(given, "name", None), str) else None


def member(name, given):
    """Finds a member by its name, by an integer that is no bool, or by the dtype of another package. Called by the
    wrapper for what is neither a member nor a plain integer.
    """
    if isinstance(given, str):
        return from_name(name, given)
    text = _dtype_name(given) if name == "Dtype" else None
    if text is not None:
        return from_name(name, text)
    if isinstance(given, (bool, _Enumeration)):
        raise TypeError(f"{given!r} is no {name}")
    return operator.index(given)
