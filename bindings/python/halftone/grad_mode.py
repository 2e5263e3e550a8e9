"""Switches for the recording of operations, by PyTorch's names. The library can stop recording in a block. To record
inside of it, the thread enters a stack of scopes of its own, in which its other modes begin again.
"""

import functools

from . import halftone as _generated
from .devices import default_device
from .registry import function
from .scopes import no_grad, opened


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


class _Switch:
    """A change of this thread's mode, until it is set back or the scope ends in which it was set."""

    is_switch, has_ended, begin_again = True, False, None

    def __init__(self, mode):
        self.before, self.stack = not mode, None
        self.scopes = self.record() if mode else [_generated.no_grad_begin()]
        opened().append(self)

    def record(self):
        """Enters a stack without scopes; returns those of the modes."""
        modes, computed = [item.begin_again for item in opened() if item.begin_again is not None], _computed_dtype()
        self.stack = _generated.ScopeStack()
        self.stack.enter()
        self.scopes = [begin() for begin in modes]
        if _computed_dtype() != computed:
            self.end()
            raise RuntimeError("operations cannot be recorded inside of no_grad() in the forward of a module that was "
                               "called with a policy")
        return self.scopes

    def end(self):
        self.has_ended = True
        for scope in reversed(self.scopes):
            scope.close()
        if self.stack is not None:
            self.stack.leave()
            self.stack.close()


def _computed_dtype():
    """The dtype in which autocast computes a product now."""
    probe = _generated.Tensor.zeros(default_device(), "f32", (1, 1))
    return _generated.matmul(probe, probe).dtype


def _switch(mode):
    if is_grad_enabled() == mode:
        return
    last = opened()[-1:]
    if last and last[0].is_switch and last[0].before == mode:
        last[0].end()
    else:
        _Switch(mode)


@function
class enable_grad(_Mode):
    """Records operations inside, also inside of no_grad()."""

    _arguments = ()

    def __enter__(self):
        self.before = is_grad_enabled()
        _switch(True)

    def __exit__(self, *exception):
        _switch(self.before)


@function
class set_grad_enabled(_Mode):
    """Switches the recording of operations on or off: for the block of a `with`, or from now on, until the scope ends
    in which it is called.

        halftone.set_grad_enabled(False)
        with halftone.set_grad_enabled(is_training):
    """

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled: mode must be a bool, got {type(mode).__name__} {mode!r}")
        self._arguments = (mode,)
        self.before = is_grad_enabled()
        _switch(mode)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        _switch(self.before)


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
