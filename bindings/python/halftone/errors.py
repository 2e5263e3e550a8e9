"""The exceptions of failed calls. Every class is a HalftoneException with the status; most also derive from Python's
own exception of that kind.
"""

import itertools
import threading

from .enums import Status

__all__ = ["DtypeMismatchError", "HalftoneException", "InvalidArgumentError", "InvalidHandleError", "OutOfMemoryError",
           "ShapeMismatchError"]


class HalftoneException(Exception):
    """A failed call; `status` is a Status, the text is the library's message in Python's words."""

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


# Exceptions of callbacks, by number, until the failed call of the library arrives. The numbers are above every other
# native code. A failing call may run callbacks while it ends, and these may fail, too; so a thread may have several.
# One that the library has ignored waits here until newer ones push it out.
_FIRST_NUMBER, _LAST_NUMBER = 0x40000000, 0x7FFFFFFE
_MOST_OF_THREAD, _MOST = 4, 64
_numbers = itertools.cycle(range(_FIRST_NUMBER, _LAST_NUMBER))
_pending = {}


def store(exception, may_time_out):
    """Keeps the exception of a callback; returns the status that the callback returns, and the words of its message.
    Called by the wrapper.
    """
    text = f"{type(exception).__name__}: {exception}".encode("utf-8", "replace").decode().replace("\0", " ")
    if may_time_out and (isinstance(exception, TimeoutError) or getattr(exception, "status", 0) == Status.TIMEOUT):
        return int(Status.TIMEOUT), text
    number, own = next(_numbers), _numbers_of_thread()
    for old in own[: len(own) - _MOST_OF_THREAD + 1] + list(_pending)[: len(_pending) - _MOST + 1]:
        _pending.pop(old, None)
    _pending[number] = (threading.get_ident(), exception)
    return number, text


def _numbers_of_thread():
    return [number for number, (thread, _) in list(_pending.items()) if thread == threading.get_ident()]


def _take(number):
    """The exception of a number. Newer ones of this thread are later failures of the same call."""
    _, exception = _pending.pop(number)
    own = _numbers_of_thread()
    for newer in own[next((at for at, other in enumerate(own) if other > number), len(own)) :]:
        del _pending[newer]
    return exception


def from_status(status, message, native_code, symbol):
    """Makes the exception for a status of a function of the wrapper; an unknown status of a newer library stays a plain
    integer. The exception of a callback is that itself. If the library has put its own error in place of it, such as
    one that names a rank, it becomes the cause of that. Called by the wrapper.
    """
    if native_code in _pending:
        return _take(native_code)
    from .words import in_python

    message = in_python(symbol, message)
    known = Status(status) if status in Status._value2member_map_ else status
    if known == Status.INVALID_HANDLE:
        message += "; the object was closed, or a scope() that made it has ended"
    raised = _CLASSES.get(known, HalftoneException)(known, message)
    own = _numbers_of_thread() if _pending else []
    if own:
        raised.__cause__ = _take(own[0])
    return raised
