"""halftone for Python: mixed-precision training of neural networks.

Objects own what they stand for: close them, use them in a `with`, or leave them to the collector.
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
