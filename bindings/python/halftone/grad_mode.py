"""Switches for the recording of operations, by PyTorch's names. The library can stop recording in a block; it cannot
record in a block inside of no_grad().
"""

import functools
import threading

from . import halftone as _generated
from .devices import default_device
from .registry import function
from .scopes import no_grad

_thread = threading.local()


@function
def is_grad_enabled():
    """True if this thread records operations for backward."""
    probe = _generated.Tensor.zeros(default_device(), "f32", ())
    probe.set_requires_grad()
    return bool(_generated.reshape(probe, ()).requires_grad)


class _Mode:
    """For `with`, or as a decorator."""

    def __call__(self, decorated):
        @functools.wraps(decorated)
        def inside(*arguments, **settings):
            with type(self)(*self._arguments):
                return decorated(*arguments, **settings)

        return inside


@function
class enable_grad(_Mode):
    """Requires that operations are recorded inside: an error inside of no_grad(), which nothing switches off there."""

    _arguments = ()

    def __enter__(self):
        _require_recording("enable_grad")

    def __exit__(self, *exception):
        pass


def _require_recording(name):
    if not is_grad_enabled():
        raise RuntimeError(f"{name}: operations cannot be recorded inside of no_grad(); end it first")


@function
class set_grad_enabled(_Mode):
    """Switches the recording of operations on or off from now on, or for the block of a `with`.

        halftone.set_grad_enabled(False)
        with halftone.set_grad_enabled(is_training):
    """

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled: mode must be a bool, got {type(mode).__name__} {mode!r}")
        self._arguments = (mode,)
        self.before = getattr(_thread, "stopped", None)
        _switch(mode)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        _switch(self.before is None)


def _switch(mode):
    stopped = getattr(_thread, "stopped", None)
    if mode and stopped is not None:
        _thread.stopped = None
        stopped.__exit__(None, None, None)
    if mode:
        _require_recording("set_grad_enabled")
    elif stopped is None:
        _thread.stopped = no_grad().__enter__()


@function
def inference_mode(mode=True):
    """Records no operations inside, as no_grad(); with mode=False it changes nothing."""
    return no_grad() if mode else _Unchanged()


class _Unchanged(_Mode):
    _arguments = ()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass
