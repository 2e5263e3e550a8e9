"""The exceptions of failed calls. Every class is a HalftoneException with the status; most also derive from Python's
own exception of that kind.
"""

from .enums import Status

__all__ = ["DtypeMismatchError", "HalftoneException", "InvalidArgumentError", "InvalidHandleError", "OutOfMemoryError",
           "ShapeMismatchError"]


class HalftoneException(Exception):
    """A failed call; `status` is a Status, the text is the library's message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class InvalidArgumentError(HalftoneException, ValueError):
    pass


class ShapeMismatchError(InvalidArgumentError):
    pass


class DtypeMismatchError(InvalidArgumentError):
    pass


class InvalidHandleError(HalftoneException, ValueError):
    """The object was closed. (Python's file objects raise ValueError in this case.)"""


class OutOfMemoryError(HalftoneException, MemoryError):
    pass


_CLASSES = {
    Status.INVALID_ARGUMENT: InvalidArgumentError,
    Status.INVALID_HANDLE: InvalidHandleError,
    Status.OUT_OF_MEMORY: OutOfMemoryError,
    Status.SHAPE_MISMATCH: ShapeMismatchError,
    Status.DTYPE_MISMATCH: DtypeMismatchError,
}


def from_status(status, message):
    """Makes the exception for a status; an unknown status of a newer library stays a plain integer. Called by the
    wrapper.
    """
    known = Status(status) if status in Status._value2member_map_ else status
    return _CLASSES.get(known, HalftoneException)(known, message)
