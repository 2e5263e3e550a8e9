"""Hooks of modules with PyTorch's arguments: hook(module, arguments) and hook(module, arguments, output)."""

import weakref

from .. import halftone as _generated
from . import calls
from .arguments import refuse
from .tree import pack, unpack

_c = _generated._halftone


def _attributes(module):
    """Those of a module of Python, which the library keeps anyway. Those of another one own the module."""
    return module.__dict__ if "_is_custom" in module.__dict__ else None


def _present(tensors):
    return tuple(item for item in tensors if item is not None)


def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
    """Calls hook(module, arguments) before each forward; what it returns replaces the arguments, unless it is None.
    With with_kwargs it is hook(module, arguments, keywords), which returns both. remove() of the result ends it.
    """
    refuse("register_forward_pre_hook", prepend=(prepend, False))
    reference, attributes = weakref.ref(self), _attributes(self)

    def before(module, inputs):
        call = calls.current(attributes)
        is_waiting = call is not None and not call.began
        arguments, settings = unpack(call.packed, inputs) if is_waiting else (_present(inputs), {})
        own = reference() or module
        returned = hook(own, arguments, settings) if with_kwargs else hook(own, arguments)
        if returned is None:
            return None
        if with_kwargs:
            arguments, settings = returned
        else:
            arguments = returned if isinstance(returned, tuple) else (returned,)
        tensors = []
        packed = pack((arguments, settings), tensors)
        if is_waiting:
            call.packed, call.replaced = packed, True
        return tensors

    return _added(self, _c.Module_add_forward_pre_hook, before)


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
    """Calls hook(module, arguments, output) after each forward; what it returns replaces the output, unless it is None.
    With with_kwargs it is hook(module, arguments, keywords, output). remove() of the result ends it.
    """
    refuse("register_forward_hook", prepend=(prepend, False), always_call=(always_call, False))
    reference, attributes = weakref.ref(self), _attributes(self)

    def after(module, inputs, outputs):
        call = calls.current(attributes)
        has_result = call is not None and call.began
        arguments, settings = unpack(call.packed, inputs) if has_result else (_present(inputs), {})
        present = _present(outputs)
        output = unpack(call.result, outputs) if has_result else present[0] if len(present) == 1 else present
        own = reference() or module
        returned = hook(own, arguments, settings, output) if with_kwargs else hook(own, arguments, output)
        if returned is None:
            return None
        tensors = []
        packed = pack(returned, tensors)
        if has_result:
            call.result = packed
        return tensors

    return _added(self, _c.Module_add_forward_hook, after)


def _added(module, add, hook):
    """The library's module of a layer has hooks now, so that the layer must keep this module."""
    module.__dict__["_hooked"] = True
    return add(module, hook)


def add_forward_hook(self, callback):
    """Calls callback(module, inputs, outputs) after each forward; it may return other outputs.
    """
    return _added(self, _c.Module_add_forward_hook, callback)


def add_forward_pre_hook(self, callback):
    """Calls callback(module, inputs) before each forward, with all inputs as a tuple; it may return other inputs.
    """
    attributes = _attributes(self)

    def before(module, inputs):
        returned = callback(module, inputs)
        call = calls.current(attributes)
        if returned is not None and call is not None:
            call.replaced = True
        return returned

    return _added(self, _c.Module_add_forward_pre_hook, before)
