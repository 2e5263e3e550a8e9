"""The parts of a module by name: modules, parameters, buffers, and buffers that are not part of states."""

import weakref

from .. import halftone as _generated
from ..halftone import Module, Tensor
from .kinds import adopt
from .parameter import Parameter, handle_of

_c = _generated._halftone
PARTS = ("_modules", "_parameters", "_buffers")
# A container of parts by name or number shows them as items: they hide no method.
Module._shows_parts = True
ADD = {"_modules": _c.Module_add_child, "_parameters": _c.Module_add_parameter, "_buffers": _c.Module_add_buffer}
REPLACE = {"_modules": _c.Module_replace_child, "_parameters": _c.Module_replace_parameter,
            "_buffers": _c.Module_replace_buffer}


def _fill(self):
    """The parts of a module that the library made."""
    attributes = self.__dict__
    if "this" not in attributes:
        raise AttributeError(f"{type(self).__name__}: call super().__init__() before an attribute is set")
    attributes["_modules"] = {_c.Module_child_name(self, index): adopt(_c.Module_child(self, index))
                              for index in range(_c.Module_child_count(self))}
    names = [_c.Module_parameter_name(self, index) for index in range(_c.Module_parameter_count(self))]
    attributes["_parameters"] = {name: Parameter._of(_c.Module_parameter(self, index))
                                 for index, name in enumerate(names) if "." not in name}
    for name in getattr(type(self), "_optional", ()):
        attributes["_parameters"].setdefault(name, None)
    names = [_c.Module_buffer_name(self, index) for index in range(_c.Module_buffer_count(self))]
    attributes["_buffers"] = {name: _generated_kept(_c.Module_buffer(self, index))
                              for index, name in enumerate(names) if "." not in name}
    attributes["_transient"] = {}


def _generated_kept(tensor):
    _generated.keep_handle(tensor)
    return tensor


def parts(self, which):
    """One of the dictionaries of parts."""
    if which not in self.__dict__:
        _fill(self)
    return self.__dict__[which]


def part_names(self):
    """The names of all parts that are there."""
    return [name for which in PARTS for name, part in parts(self, which).items() if part is not None]


def show(self, name, value):
    """An object's own entry hides a function of the class, such as Module.linear."""
    if self._shows_parts:
        self.__dict__[name] = value


def set_part(self, which, name, value):
    """Adds a part, or puts it in the place of the one of its name."""
    known = parts(self, which)
    if which != "_transient":
        change = ADD if known.get(name) is None else REPLACE
        change[which](self, name, handle_of(value))
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        _generated.keep_handle(value)
    known[name] = value
    if which == "_modules":
        note_holder(value, self)
    show(self, name, value)


def note_holder(part, holder):
    """Remembers for a module which one holds it."""
    known = [reference for reference in part.__dict__.get("_holders", ()) if reference() not in (None, holder)]
    part.__dict__["_holders"] = [*known, weakref.ref(holder)]


def holders_of(part):
    """The modules that hold a module, or did."""
    return [holder for holder in (reference() for reference in part.__dict__.get("_holders", ())) if holder is not None]


def drop_part(self, which, name):
    """Removes a part from the library; the name stays, with None."""
    if which != "_transient" and parts(self, which)[name] is not None:
        _c.Module_remove(self, name)
    parts(self, which)[name] = None
    show(self, name, None)


def remove_part(self, which, name):
    drop_part(self, which, name)
    del parts(self, which)[name]
    self.__dict__.pop(name, None)


def set_or_keep_free(self, which, name, value):
    """None keeps the name for a later part."""
    if value is None:
        parts(self, which)[name] = None
        show(self, name, None)
    else:
        set_part(self, which, name, value)
