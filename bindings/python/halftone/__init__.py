"""halftone for Python: mixed-precision training of neural networks.

Each Python object owns its native object. Close it, use it in a `with` statement, or leave it to the garbage collector.
"""

from .enums import Dtype, Status
from .errors import (
    DtypeMismatchError,
    HalftoneException,
    InvalidArgumentError,
    InvalidHandleError,
    OutOfMemoryError,
    ShapeMismatchError,
)
from .halftone import Device, Tensor, live_handles

__all__ = [
    "Device",
    "Dtype",
    "DtypeMismatchError",
    "HalftoneException",
    "InvalidArgumentError",
    "InvalidHandleError",
    "OutOfMemoryError",
    "ShapeMismatchError",
    "Status",
    "Tensor",
    "live_handles",
]
