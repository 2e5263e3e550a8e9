"""Runs of a module: by a call, with hooks, and by forward()."""

import functools

from .. import halftone as _generated
from ..halftone import AutocastPolicy, Module
from . import backward_hooks, calls, hooks
from .hidden_parts import require_no_hidden_parts
from .methods import method

_c = _generated._halftone
native_forward = vars(Module)["forward"]


@method
def __call__(self, *inputs, **settings):
    """Runs the module with its hooks, under the thread's autocast or the AutocastPolicy `policy`."""
    policy = settings.pop("policy") if isinstance(settings.get("policy", 0), (AutocastPolicy, type(None))) else None
    if "_is_custom" not in self.__dict__:
        return self._compute(*inputs, policy=policy, **settings)
    if "_is_checked" not in self.__dict__:
        require_no_hidden_parts(self)
        self.__dict__["_is_checked"] = True
    return calls.run(self, inputs, settings, policy)


@method
def _compute(self, *inputs, policy=None, **named):
    """Runs a module of the library: its first output."""
    if "input" in named and not inputs:
        inputs = (named.pop("input"),)
    for name in named:
        raise TypeError(f"forward: no argument has the name {name}")
    if len(inputs) == 1:
        return native_forward(self, inputs[0], policy)
    return _c.Module_forward_n(self, inputs, policy, 1)[0]


@method
def forward(self, *inputs, **settings):
    """The module's computation, without its hooks for a class of Python's."""
    if "_is_custom" in self.__dict__:
        raise NotImplementedError(f"{type(self).__name__} has no forward")
    return self._compute(*inputs, **settings)


@method
def forward_n(self, inputs, policy=None, output_count=1):
    """Runs the module with several inputs, and returns the first outputs as a tuple.
    """
    return _c.Module_forward_n(self, inputs, policy, output_count)


def _marking(function):
    @functools.wraps(function)
    def mark(self, *arguments, **settings):
        calls.may_recompute[0] = True
        return function(self, *arguments, **settings)

    return mark


for _name in ("set_recompute", "set_recompute_matching"):
    setattr(Module, _name, _marking(getattr(Module, _name)))
for _function in (hooks.register_forward_hook, hooks.register_forward_pre_hook, hooks.add_forward_hook,
                  hooks.add_forward_pre_hook, backward_hooks.register_full_backward_hook,
                  backward_hooks.register_full_backward_pre_hook):
    method(_function)
