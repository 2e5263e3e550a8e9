"""Parts by calls: register_buffer and the like, as in PyTorch, and the library's own names."""

from ..halftone import Module, Tensor
from .methods import method
from .parameter import Parameter, handle_of
from .parts import ADD, REPLACE, parts, set_or_keep_free, set_part, show


@method
def register_buffer(self, name, tensor, persistent=True):
    """Adds a tensor to the module's state, which no optimizer updates, and sets it as an attribute. With
    persistent=False it is not part of state dicts. None keeps the name free for a later tensor.
    """
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"register_buffer: tensor must be a Tensor or None, got {type(tensor).__name__}")
    _require_free(self, "register_buffer", name)
    set_or_keep_free(self, "_buffers" if persistent else "_transient", name, tensor)




@method
def register_parameter(self, name, param):
    """Adds a parameter, as setting an attribute does. None keeps the name."""
    if param is not None and not isinstance(param, Parameter):
        raise TypeError(f"register_parameter: param must be a Parameter or None, got {type(param).__name__}")
    _require_free(self, "register_parameter", name)
    set_or_keep_free(self, "_parameters", name, param)


def _require_free(self, function, name):
    if not isinstance(name, str):
        raise TypeError(f"{function}: name must be a str, got {type(name).__name__}")
    known = {*parts(self, "_modules"), *parts(self, "_parameters"), *parts(self, "_buffers")}
    if name not in known and (name in self.__dict__ or (hasattr(type(self), name) and not hasattr(Module, name))
                              or name in ("forward", "training")):
        raise KeyError(f"{function}: attribute {name!r} exists already")


@method
def add_module(self, name, module):
    """Adds a module as a part, as setting an attribute does. None keeps the name."""
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"add_module: module must be a Module or None, got {type(module).__name__}")
    set_or_keep_free(self, "_modules", name, module)


Module.register_module = add_module


@method
def add_child(self, name, child):
    """Adds a module as a part.
    """
    _set_new(self, "_modules", name, child)


@method
def add_parameter(self, name, parameter):
    """Adds a parameter.
    """
    _set_new(self, "_parameters", name,
             parameter if isinstance(parameter, Parameter) else Parameter._of(parameter))


@method
def add_buffer(self, name, tensor):
    """Adds a tensor to the state, which no optimizer updates.
    """
    _set_new(self, "_buffers", name, tensor)


def _set_new(self, which, name, value):
    ADD[which](self, name, handle_of(value))
    parts(self, which)[name] = value
    show(self, name, value)


@method
def remove(self, name):
    """Removes a parameter, a buffer or a child.
    """
    delattr(self, name)


def _replace(self, which, name, value):
    if parts(self, which).get(name) is None:
        REPLACE[which](self, name, handle_of(value))  # the error of the library
    set_part(self, which, name, value)


@method
def replace_child(self, name, child):
    """Puts another module in the place of a child."""
    _replace(self, "_modules", name, child)


@method
def replace_parameter(self, name, parameter):
    """Puts another parameter in the place of one."""
    _replace(self, "_parameters", name, parameter)


@method
def replace_buffer(self, name, tensor):
    """Puts another tensor in the place of a buffer."""
    _replace(self, "_buffers", name, tensor)
