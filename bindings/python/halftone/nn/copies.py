"""Copies of a module."""

import copy

from .. import halftone as _generated
from ..halftone import Module
from .methods import method
from .parts import PARTS, part_names, parts, set_or_keep_free

_c = _generated._halftone


@method
def __deepcopy__(self, memo):
    made = _copied(self, memo)
    memo[id(self)] = made
    skipped = {*PARTS, "_transient", "this", "_is_custom", *part_names(self), *parts(self, "_transient")}
    for name, value in self.__dict__.items():
        if name not in skipped:
            made.__dict__[name] = copy.deepcopy(value, memo)
    if not self.training:
        _c.Module_set_training(made, False)
    return made


def _copied(self, memo):
    """A module of the same class with copies of the parts."""
    made = type(self).__new__(type(self))
    if "_is_custom" not in self.__dict__ and not any("_is_custom" in part.__dict__ for part in self.modules()):
        made.__dict__["this"] = _c.Module_copy(self).this
        return made
    memo[id(self)] = made
    if "_is_custom" in self.__dict__:
        Module.__init__(made)
    else:
        made.__dict__["this"] = Module.sequential([]).this
    for which in (*PARTS, "_transient"):
        for name, part in parts(self, which).items():
            _copy_part(made, which, name, part, memo)
    return made


def _copy_part(made, which, name, part, memo):
    is_tensor = part is not None and which in ("_buffers", "_transient")
    set_or_keep_free(made, which, name, part.detach().clone() if is_tensor else copy.deepcopy(part, memo))


@method
def __reduce_ex__(self, protocol):
    raise TypeError(f"a {type(self).__name__} cannot be pickled; save its state_dict()")
