"""Parts as attributes: setting one makes it a part, and deleting one removes it."""

from ..halftone import Module, Tensor
from .hidden_parts import HIDING, hidden_parts, require_no_hidden_parts
from .methods import method
from .parameter import Handle, Parameter
from .parts import PARTS, drop_part, parts, remove_part, set_part
from .remakes import remake

_WANTED = {"_modules": "a Module", "_parameters": "a Parameter", "_buffers": "a Tensor", "_transient": "a Tensor"}


def _find(self, name):
    if not name.startswith("__") and name not in (*PARTS, "this", "_transient"):
        for which in (*PARTS, "_transient"):
            found = parts(self, which)
            if name in found:
                return found[name]
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


Module.__getattr__ = _find  # a file's own __getattr__ would find attributes of the file


def _of_kind(value):
    if isinstance(value, Module):
        return "_modules"
    return "_parameters" if isinstance(value, Parameter) else None


@method
def __setattr__(self, name, value):
    if name == "_owner":
        return object.__setattr__(self, name, value)
    value = Parameter._of(value) if isinstance(value, Handle) else value
    which = _of_kind(value)
    attributes = self.__dict__
    if "_modules" not in attributes and "this" not in attributes:
        if which is None:
            return object.__setattr__(self, name, value)
        raise AttributeError(f"{type(self).__name__}: call super().__init__() before an attribute is set")
    if which is None:
        return _set_plain(self, name, value)
    for other in (*PARTS, "_transient"):
        if other != which and name in parts(self, other):
            remove_part(self, other, name)
    return set_part(self, which, name, value)


def _set_plain(self, name, value):
    for which in (*PARTS, "_transient"):
        if name not in parts(self, which):
            continue
        if value is None:
            return drop_part(self, which, name)
        if which in ("_buffers", "_transient") and isinstance(value, Tensor):
            return set_part(self, which, name, value)
        raise TypeError(f"{type(self).__name__}.{name} must be {_WANTED[which]} or None, got {type(value).__name__}")
    if name in self.__dict__.get("_settings", ()) and value != self.__dict__.get(name):
        return remake(self, **{name: value})
    object.__setattr__(self, name, value)
    if isinstance(value, HIDING) and hidden_parts(value):
        try:
            require_no_hidden_parts(self)
        except TypeError:
            object.__delattr__(self, name)
            raise
    return None


@method
def __delattr__(self, name):
    if "this" in self.__dict__:
        for which in (*PARTS, "_transient"):
            if name in parts(self, which):
                return remove_part(self, which, name)
    return object.__delattr__(self, name)
