"""Walks over the parts of a module, and parts by their paths."""

from .. import halftone as _generated
from ..halftone import Module
from .hidden_parts import require_no_hidden_parts
from .methods import method
from .parts import parts

_c = _generated._halftone


@method
def named_children(self):
    """Pairs of a name and a module, in order."""
    yield from ((name, part) for name, part in list(parts(self, "_modules").items()) if part is not None)


@method
def children(self):
    """The modules that are parts of this one."""
    yield from (part for _, part in self.named_children())


@method
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    """Pairs of a path and a module: this one, whose path is "", and all parts at any depth, each once."""
    memo = set() if memo is None else memo
    if id(self) in memo:
        return
    if remove_duplicate:
        memo.add(id(self))
    yield prefix, self
    for name, part in self.named_children():
        yield from part.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


@method
def modules(self):
    """This module and all parts at any depth, each once."""
    yield from (module for _, module in self.named_modules())


def _named_parts(self, which, prefix, recurse, remove_duplicate):
    met = set()
    found = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
    for path, module in found:
        for name, part in list(parts(module, which).items()):
            if part is None or id(part) in met:
                continue
            if remove_duplicate:
                met.add(id(part))
            yield (f"{path}.{name}" if path else name), part


@method
def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
    """Pairs of a name and a parameter, in order; a parameter that is in the module twice comes once."""
    require_no_hidden_parts(self)
    for name, parameter in _named_parts(self, "_parameters", prefix, recurse, remove_duplicate):
        parameter.__dict__["_path"] = name
        yield name, parameter


@method
def parameters(self, recurse=True):
    """The parameters, in order."""
    yield from (parameter for _, parameter in self.named_parameters(recurse=recurse))


@method
def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
    """Pairs of a name and a buffer, in order; also those that are not part of state dicts."""
    for which in ("_buffers", "_transient"):
        yield from _named_parts(self, which, prefix, recurse, remove_duplicate)


@method
def buffers(self, recurse=True):
    """The tensors of the state that no optimizer updates."""
    yield from (buffer for _, buffer in self.named_buffers(recurse=recurse))


@method
def get_submodule(self, target):
    """The module at a path of names with dots between them; "" is this one."""
    found = self
    for name in target.split(".") if target else ():
        part = parts(found, "_modules").get(name)
        if part is None:
            raise AttributeError(f"get_submodule: {type(found).__name__} has no module {name!r} (of {target!r})")
        found = part
    return found


def _getter(which, what):
    def get(self, target):
        path, _, name = target.rpartition(".")
        found = parts(self.get_submodule(path), which).get(name)
        if found is None:
            raise AttributeError(f"get_{what}: there is no {what} {target!r}")
        return found

    get.__name__ = f"get_{what}"
    get.__doc__ = f"The {what} at a path of names with dots between them."
    return get


Module.get_parameter = _getter("_parameters", "parameter")
Module.get_buffer = _getter("_buffers", "buffer")


@method
def child(self, index):
    """A part by its number.
    """
    _c.Module_child_name(self, index)  # the error of the library
    return list(self.children())[index]


@method
def find(self, path):
    """The module at a path, as get_submodule()."""
    return self.get_submodule(path)
