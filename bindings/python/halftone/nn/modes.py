"""Modes of a module and its parts: training or evaluation, frozen or not, with gradients or without."""

from .. import halftone as _generated
from ..halftone import Module
from .methods import method
from .utils import zero_gradients

_c = _generated._halftone


@method
def train(self, mode=True):
    """Switches to training, or to evaluation with mode=False; returns the module. A class whose train does more is
    asked for its part.
    """
    if not isinstance(mode, (bool, int)):
        raise TypeError(f"train: mode must be a bool, got {type(mode).__name__}")
    _c.Module_set_training(self, bool(mode))
    for module in self.modules():
        if module is not self and type(module).train is not train:
            module.train(mode)
    return self


@method
def eval(self):
    """Switches to evaluation; returns the module."""
    return self.train(False)


@method
def requires_grad_(self, requires_grad=True):
    """Freezes all parameters, or lets them train; returns the module."""
    for parameter in self.parameters():
        parameter.requires_grad = requires_grad
    return self


@method
def zero_grad(self, set_to_none=True):
    """Drops the gradients of all parameters, or writes zeros into them with set_to_none=False."""
    if not set_to_none:
        return zero_gradients(self.parameters())
    for parameter in self.parameters():
        parameter.grad = None
    return None


@method
def apply(self, function):
    """Calls function(module) for every part, and then for this module, which it returns."""
    for part in self.children():
        part.apply(function)
    function(self)
    return self


Module.training = property(lambda self: _c.Module_is_training(self),
                           lambda self, mode: _c.Module_set_training(self, bool(mode)),
                           doc="True in training mode. A new module is.")
