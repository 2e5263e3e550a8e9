"""Copies and pickles of a module: its class, what it was made of, its parts, modes, marks and attributes. Hooks stay
with the original.
"""

import copy

from .. import halftone as _generated
from ..halftone import Device, Module
from ..scopes import no_grad
from .kinds import adopt
from .layer import Layer, class_named
from .methods import method
from .parts import PARTS, parts, set_or_keep_free
from .quiet import without_draws

_c = _generated._halftone
# Entries of an object that belong to it alone, or that its class makes.
_OWN = {*PARTS, "_transient", "this", "_is_custom", "_is_checked", "_native", "_made", "_settings", "_holders",
        "_hooked", "_is_tied"}


def origin_of(module):
    """The things that a module is made of, or None if the library made it in another way."""
    attributes = module.__dict__
    if "_made" in attributes:
        kind, arguments = attributes["_made"]
        return "layer", kind.__name__, arguments
    if "_is_custom" in attributes:
        return ("custom",)
    if _c.Module_kind(module) == "sequential":
        inside = parts(module, "_modules")
        is_named = list(inside) != [str(index) for index in range(len(inside))]
        return "sequential", list(inside) if is_named else None, list(inside.values())
    if "_is_tied" in attributes:
        return "tied", module.weight, module.__dict__.get("bias", parts(module, "_parameters").get("bias"))
    return None


def made_anew(kind, origin):
    """A module of a class from its origin; state_of() has the rest."""
    made = kind.__new__(kind)
    what, *of = origin
    with without_draws():
        if what == "custom":
            Module.__init__(made)
        elif what == "layer":
            Layer._begin(made, class_named(of[0]), of[1])
        elif what == "tied":
            made._tie(*of)
        else:
            made._hold(*of)
    return made


def state_of(module):
    """The rest of a module beside its origin. That of a module of the library has the parts inside by their paths."""
    is_open = _is_open(module)
    inside = {"": module} if is_open else dict(module.named_modules())
    known = {name for which in (*PARTS, "_transient") for name in parts(module, which)}
    return {
        "modules": dict(parts(module, "_modules")) if "_is_custom" in module.__dict__ else {},
        **{which[1:]: {path: dict(parts(part, which)) for path, part in inside.items()}
           for which in ("_parameters", "_buffers", "_transient")},
        "training": {path: part.training for path, part in inside.items()},
        "recompute": {path: bool(_c.Module_recomputes(part)) for path, part in inside.items()},
        "attributes": {name: value for name, value in module.__dict__.items() if name not in _OWN | known}}


def _is_open(module):
    """Modules can be added to it, and are modules of their own then."""
    return "_is_custom" in module.__dict__ or _c.Module_kind(module) == "sequential"


@method
def __setstate__(self, state):
    for path, training in state["training"].items():
        _set_mode(self.get_submodule(path), training)
    for name, part in state["modules"].items():
        set_or_keep_free(self, "_modules", name, part)
    for which in ("_parameters", "_buffers", "_transient"):
        for path, given in state[which[1:]].items():
            for name, part in given.items():
                _put(self.get_submodule(path), which, name, part)
    for path, recompute in state["recompute"].items():
        if recompute:
            self.get_submodule(path).set_recompute(True)
    self.__dict__.update((name, value) for name, value in state["attributes"].items() if name not in _OWN)


def _set_mode(module, training):
    """The mode of a module alone; the library sets that of its parts, too."""
    inside = [(part, part.training) for part in module.modules() if part is not module]
    _c.Module_set_training(module, training)
    for part, own in inside:
        _c.Module_set_training(part, own)


def _put(module, which, name, part):
    """A layer keeps its buffers, which its forward writes, and gets their values."""
    own = parts(module, which).get(name)
    if which != "_buffers" or own is None or part is None:
        if part is not None or own is not None or "_is_custom" in module.__dict__:
            set_or_keep_free(module, which, name, part)
        return
    with no_grad():
        _c.Tensor_copy_from(own, part)


@method
def __deepcopy__(self, memo):
    origin = origin_of(self)
    if origin is None:
        return adopt(_c.Module_copy(self))
    made = made_anew(type(self), copy.deepcopy(origin, memo))
    memo[id(self)] = made
    made.__setstate__(copy.deepcopy(state_of(self), memo))
    return made


@method
def __reduce_ex__(self, protocol):
    return made_anew, (type(self), require_origin(self, "pickle")), state_of(self)


def require_origin(module, function):
    """The origin for another process, with devices by name; an error if the library made the module."""
    origin = origin_of(module)
    if origin is None:
        raise TypeError(f"{function}: a {type(module).__name__} that the library made, such as by Module.linear(), "
                        "cannot be saved as a whole; make it as nn.Linear(), or save its state_dict()")
    if origin[0] == "layer":
        return *origin[:2], {name: _plain(value) for name, value in origin[2].items()}
    return origin


def _plain(value):
    if isinstance(value, Device):
        return value.name
    return value.__index__() if hasattr(value, "__index__") and not isinstance(value, bool) else value
