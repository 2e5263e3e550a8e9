"""Scopes of one thread, for `with`: what is made inside is released at the end, or a mode is on until the end."""

import contextlib
import threading

from . import halftone as _generated
from .enums import Status
from .errors import HalftoneException
from .halftone import AutocastPolicy, DistributedDataParallel, Fsdp, Recipe, Scope, Trainer
from .leaves import weights_moved


def _close(self):
    """Ends the scope now; closing it again does nothing. On another thread, or before the scopes inside have ended,
    this is an error; then the scope's own thread ends it as soon as it can.
    """
    if self.__dict__.get("_is_closed"):
        return
    self._is_closed = True
    try:
        self.end()
    except HalftoneException as error:
        if error.status == Status.STATE:
            self.end_later()
        raise


# No `_release`: a scope ends by end().
Scope.close = _close
Scope.__enter__ = lambda self: self
Scope.__exit__ = lambda self, *exception: self.close()


_thread = threading.local()


def opened():
    """Scopes of `with` that this thread has begun and not ended, in order, and the switches of grad_mode.py."""
    _thread.opened = [item for item in getattr(_thread, "opened", ()) if not item.has_ended]
    return _thread.opened


class _Opened:
    """A scope of a `with`. A mode holds inside of enable_grad(), too, which begins it there again."""

    is_switch = has_ended = False

    def __init__(self, begin, is_mode):
        self.scope, self.begin_again = begin(), begin if is_mode else None

    def end(self):
        """Ends the scope, and switches before it that were set inside and not set back."""
        inside = opened()
        while self in inside and inside[-1].is_switch:
            inside.pop().end()
        self.has_ended = True
        scope, self.scope, self.begin_again = self.scope, None, None
        scope.close()


class _Begun(contextlib.ContextDecorator):
    """Begins a scope at `with` and ends it there, also as a decorator. Each thread ends those that it has begun."""

    def __init__(self, begin, at_end=None, is_mode=False):
        self._begin, self._at_end, self._is_mode = begin, at_end, is_mode
        self._scopes = {}

    def __enter__(self):
        made = _Opened(self._begin, self._is_mode)
        self._scopes.setdefault(threading.get_ident(), []).append(made)
        opened().append(made)
        return self

    def __exit__(self, *exception):
        own = threading.get_ident()
        # A block may go on in another thread, as a generator can: the error of close() tells it.
        thread = own if own in self._scopes else next(iter(self._scopes))
        scope = self._scopes[thread].pop()
        if not self._scopes[thread]:
            del self._scopes[thread]
        scope.end()
        if self._at_end is not None:
            self._at_end()


def scope():
    """Releases at its end every object of the library that this thread made inside, but those passed to keep().

        with halftone.scope():
            loss = halftone.cross_entropy(model(images), labels)
            loss.backward()
    """
    return _Begun(_generated.handles_begin, weights_moved)


def keep(thing):
    """Takes an object out of the innermost scope() and returns it: it lives on until it is collected."""
    _generated.keep_handle(thing)
    return thing


def no_grad():
    """Records no operations inside."""
    return _Begun(_generated.no_grad_begin)


def deferred_init():
    """Makes modules inside without memory for their weights, so that a model that is larger than the memory can be
    described. Fsdp then makes one parameter after the other, of which each rank keeps its part; without it weights are
    made when they are first needed.

        with halftone.deferred_init():
            model = nn.Transformer(vocabulary=50257, positions=1024, layers=48, width=1600, heads=25)
        sharded = halftone.Fsdp(model, group)
    """
    return _Begun(_generated.deferred_init_begin, is_mode=True)


_DEVICES = {"cpu": "bf16", "cuda": "f16", "meta": "bf16"}


def autocast(device_type="bf16", dtype=None, enabled=True, recipe=None):
    """Computes inside in a low-precision dtype where that is safe: autocast("bf16"), or as in PyTorch
    autocast("cuda", dtype="f16"). Without a dtype it is bf16 on a CPU and f16 on a GPU. A policy of one's own is taken,
    too. With enabled=False operations inside keep their dtypes. A recipe, such as "mxfp8" or a Recipe, has linear layers
    multiply in codes of fewer bits.
    """
    if isinstance(device_type, str) and device_type.split(":")[0] in _DEVICES:
        dtype = _DEVICES[device_type.split(":")[0]] if dtype is None else dtype
    elif dtype is not None:
        raise ValueError(f"autocast: device_type must be 'cpu', 'cuda' or 'meta', got {device_type!r}")
    else:
        dtype = device_type
    if not enabled:
        dtype = "f32"
    if isinstance(dtype, AutocastPolicy):
        if recipe is not None:
            raise ValueError("autocast: recipe is given beside a policy, which has its own (AutocastPolicy.set_recipe)")
        policy = dtype
    else:
        policy = AutocastPolicy(dtype)
        if recipe is not None and enabled:
            policy.set_recipe(recipe if isinstance(recipe, Recipe) else Recipe(recipe))
    return _Begun(lambda: _generated.autocast_begin(policy), is_mode=True)


def detect_anomaly(anomaly="not_finite"):
    """Fails inside at the operation that makes the first NaN or infinity."""
    return _Begun(lambda: _generated.anomaly_begin(anomaly), is_mode=True)


def _no_sync(self):
    """Leaves the gradients of backwards inside to this rank: they are added up, and the first backward after the block
    shares the sums. Every rank does so for the same backwards.
    """
    return _Begun(self.no_sync_begin)


def _gathered(self):
    """Gathers all weights inside, to read them: every rank begins it at the same place."""
    return _Begun(self.gather_begin)


def _turn(self):
    """Computes a batch of the trainer inside: under its policy, and in an evaluation without a graph. What is made
    inside is released at the end, as by scope().
    """
    stack = contextlib.ExitStack()
    stack.enter_context(scope())
    stack.enter_context(_Begun(self.turn_begin, is_mode=True))
    return stack


DistributedDataParallel.no_sync = _no_sync
Fsdp.no_sync = _no_sync
Fsdp.gathered = _gathered
Trainer.turn = _turn

__all__ = ["autocast", "deferred_init", "detect_anomaly", "keep", "no_grad", "scope"]
