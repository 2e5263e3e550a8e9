"""A module in PyTorch's idiom: parts as attributes, walks over them, modes, dtypes, states and texts.

The library owns the parts. `_modules`, `_parameters` and `_buffers` hold their Python objects by name; for a module
that the library made they are filled when they are first needed.
"""

import copy
import inspect
import weakref

from .. import halftone as _generated
from ..halftone import AutocastPolicy, Device, Module, Tensor
from ..leaves import weights_moved
from . import calls, hooks
from .parameter import Handle, Parameter, handle_of

_c = _generated._halftone
_PARTS = ("_modules", "_parameters", "_buffers")
# The Python class of a module of a kind, of which its constructor makes modules.
KINDS = {}
native_forward = vars(Module)["forward"]


def _method(function):
    """Adds a function to Module under its own name."""
    setattr(Module, function.__name__, function)
    return function


class _Forward:
    """The library calls this for a module; it finds the module's object. Several objects may stand for one module, one
    after the other: they share their attributes.

    A module keeps this object, which keeps the attributes; an object keeps the module. So the attributes must not refer
    to the object itself, and `this` among them owns no reference. The reference is in the slot `_owner`.
    """

    def __init__(self, made):
        self.kind = type(made)
        self.attributes = made.__dict__
        self.made = weakref.ref(made)

    def __call__(self, module, inputs):
        return calls.forward(self.made() or self.make(module), self.attributes, inputs)

    def make(self, module):
        """The last object is gone, but another module still has this one as a part."""
        made = self.kind.__new__(self.kind)
        made.__dict__ = self.attributes
        _own(made, module)
        self.made = weakref.ref(made)
        return made


def _own(made, module):
    made._owner = module
    made.__dict__["this"] = _generated.borrow_module(module).this


@_method
def __init__(self):
    """Begins a module with its own forward. Parameters and modules become parts of it when they are set as attributes,
    under the attributes' names.

        class Residual(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = nn.Linear(width, width)

            def forward(self, x):
                return x + self.inner(x)

    forward takes and returns anything: tensors, also in tuples, lists and dictionaries, and other objects.
    """
    attributes = self.__dict__
    attributes["_is_custom"] = True
    attributes.update({part: {} for part in _PARTS})
    attributes["_transient"] = {}
    most = calls.MOST_TENSORS
    _own(self, Module.custom(_Forward(self), input_count=most, required_inputs=1, output_count=most,
                             required_outputs=1))


def adopt(module):
    """Gives a module of the library the class of its kind."""
    kind = KINDS.get(_c.Module_kind(module))
    if kind is not None and type(module) is Module:
        module.__class__ = kind
    _generated.keep_handle(module)
    return module


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
    return [name for which in _PARTS for name, part in parts(self, which).items() if part is not None]


@_method
def __getattr__(self, name):
    if not name.startswith("__") and name not in (*_PARTS, "this", "_transient"):
        for which in (*_PARTS, "_transient"):
            found = parts(self, which)
            if name in found:
                return found[name]
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


del __getattr__  # Python would call it for attributes of this file
# A container of parts by name or number shows them as items: they hide no method.
Module._shows_parts = True


def _show(self, name, value):
    """An object's own entry hides a function of the class, such as Module.linear."""
    if self._shows_parts:
        self.__dict__[name] = value


def _of_kind(value):
    if isinstance(value, Module):
        return "_modules"
    return "_parameters" if isinstance(value, Parameter) else None


_HIDING = (list, tuple, dict, set)


def _hidden_parts(value):
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, (Module, Parameter))]


def require_no_hidden_parts(self):
    """A part in a plain list would not train, and would not be saved; PyTorch does not notice it."""
    known = None
    for module in self.modules():
        for name, value in module.__dict__.items():
            if name in (*_PARTS, "_transient") or not isinstance(value, _HIDING) or not _hidden_parts(value):
                continue
            known = _known_parts(self) if known is None else known
            if any(id(item) not in known for item in _hidden_parts(value)):
                raise TypeError(f"{type(module).__name__}.{name} is a {type(value).__name__} with modules or "
                                "parameters, which would not train; use nn.ModuleList, nn.ModuleDict or "
                                "nn.ParameterList")


def _known_parts(self):
    known = {id(module) for module in self.modules()}
    return known | {id(parameter) for module in self.modules() for parameter in parts(module, "_parameters").values()}


@_method
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
    for other in (*_PARTS, "_transient"):
        if other != which and name in parts(self, other):
            _remove(self, other, name)
    return set_part(self, which, name, value)


_WANTED = {"_modules": "a Module", "_parameters": "a Parameter", "_buffers": "a Tensor", "_transient": "a Tensor"}


def _set_plain(self, name, value):
    for which in (*_PARTS, "_transient"):
        if name not in parts(self, which):
            continue
        if value is None:
            return _drop(self, which, name)
        if which in ("_buffers", "_transient") and isinstance(value, Tensor):
            return set_part(self, which, name, value)
        raise TypeError(f"{type(self).__name__}.{name} must be {_WANTED[which]} or None, got {type(value).__name__}")
    object.__setattr__(self, name, value)
    if isinstance(value, _HIDING) and _hidden_parts(value):
        try:
            require_no_hidden_parts(self)
        except TypeError:
            object.__delattr__(self, name)
            raise
    return None


_ADD = {"_modules": _c.Module_add_child, "_parameters": _c.Module_add_parameter, "_buffers": _c.Module_add_buffer}
_REPLACE = {"_modules": _c.Module_replace_child, "_parameters": _c.Module_replace_parameter,
            "_buffers": _c.Module_replace_buffer}


def set_part(self, which, name, value):
    """Adds a part, or puts it in the place of the one of its name."""
    known = parts(self, which)
    if which != "_transient":
        change = _ADD if known.get(name) is None else _REPLACE
        change[which](self, name, handle_of(value))
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        _generated.keep_handle(value)
    known[name] = value
    _show(self, name, value)


def _drop(self, which, name):
    """Removes a part from the library; the name stays, with None."""
    if which != "_transient" and parts(self, which)[name] is not None:
        _c.Module_remove(self, name)
    parts(self, which)[name] = None
    _show(self, name, None)


def _remove(self, which, name):
    _drop(self, which, name)
    del parts(self, which)[name]
    self.__dict__.pop(name, None)


@_method
def __delattr__(self, name):
    if "this" in self.__dict__:
        for which in (*_PARTS, "_transient"):
            if name in parts(self, which):
                return _remove(self, which, name)
    return object.__delattr__(self, name)


@_method
def register_buffer(self, name, tensor, persistent=True):
    """Adds a tensor to the module's state, which no optimizer updates, and sets it as an attribute. With
    persistent=False it is not part of state dicts. None keeps the name free for a later tensor.
    """
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"register_buffer: tensor must be a Tensor or None, got {type(tensor).__name__}")
    _require_free(self, "register_buffer", name)
    _set_or_keep_free(self, "_buffers" if persistent else "_transient", name, tensor)


def _set_or_keep_free(self, which, name, value):
    """None keeps the name for a later part."""
    if value is None:
        parts(self, which)[name] = None
        _show(self, name, None)
    else:
        set_part(self, which, name, value)


@_method
def register_parameter(self, name, param):
    """Adds a parameter, as setting an attribute does. None keeps the name."""
    if param is not None and not isinstance(param, Parameter):
        raise TypeError(f"register_parameter: param must be a Parameter or None, got {type(param).__name__}")
    _require_free(self, "register_parameter", name)
    _set_or_keep_free(self, "_parameters", name, param)


def _require_free(self, function, name):
    if not isinstance(name, str):
        raise TypeError(f"{function}: name must be a str, got {type(name).__name__}")
    known = {*parts(self, "_modules"), *parts(self, "_parameters"), *parts(self, "_buffers")}
    if name not in known and (name in self.__dict__ or (hasattr(type(self), name) and not hasattr(Module, name))
                              or name in ("forward", "training")):
        raise KeyError(f"{function}: attribute {name!r} exists already")


@_method
def add_module(self, name, module):
    """Adds a module as a part, as setting an attribute does. None keeps the name."""
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"add_module: module must be a Module or None, got {type(module).__name__}")
    _set_or_keep_free(self, "_modules", name, module)


Module.register_module = add_module


@_method
def add_child(self, name, child):
    """Adds a module as a part.
    """
    _set_new(self, "_modules", name, child)


@_method
def add_parameter(self, name, parameter):
    """Adds a parameter.
    """
    _set_new(self, "_parameters", name,
             parameter if isinstance(parameter, Parameter) else Parameter._of(parameter))


@_method
def add_buffer(self, name, tensor):
    """Adds a tensor to the state, which no optimizer updates.
    """
    _set_new(self, "_buffers", name, tensor)


def _set_new(self, which, name, value):
    _ADD[which](self, name, handle_of(value))
    parts(self, which)[name] = value
    _show(self, name, value)


@_method
def remove(self, name):
    """Removes a parameter, a buffer or a child.
    """
    delattr(self, name)


def _replace(self, which, name, value):
    if parts(self, which).get(name) is None:
        _REPLACE[which](self, name, handle_of(value))  # the error of the library
    set_part(self, which, name, value)


@_method
def replace_child(self, name, child):
    """Puts another module in the place of a child."""
    _replace(self, "_modules", name, child)


@_method
def replace_parameter(self, name, parameter):
    """Puts another parameter in the place of one."""
    _replace(self, "_parameters", name, parameter)


@_method
def replace_buffer(self, name, tensor):
    """Puts another tensor in the place of a buffer."""
    _replace(self, "_buffers", name, tensor)


@_method
def __call__(self, *inputs, **settings):
    """Runs the module with its hooks, under the thread's autocast or the AutocastPolicy `policy`."""
    policy = settings.pop("policy") if isinstance(settings.get("policy", 0), (AutocastPolicy, type(None))) else None
    if "_is_custom" not in self.__dict__:
        return self._compute(*inputs, policy=policy, **settings)
    if "_is_checked" not in self.__dict__:
        require_no_hidden_parts(self)
        self.__dict__["_is_checked"] = True
    return calls.run(self, inputs, settings, policy)


@_method
def _compute(self, *inputs, policy=None, **named):
    """Runs a module of the library: its first output."""
    if "input" in named and not inputs:
        inputs = (named.pop("input"),)
    for name in named:
        raise TypeError(f"forward: no argument has the name {name}")
    if len(inputs) == 1:
        return native_forward(self, inputs[0], policy)
    return _c.Module_forward_n(self, inputs, policy, 1)[0]


@_method
def forward(self, *inputs, **settings):
    """The module's computation, without its hooks for a class of Python's."""
    if "_is_custom" in self.__dict__:
        raise NotImplementedError(f"{type(self).__name__} has no forward")
    return self._compute(*inputs, **settings)


@_method
def forward_n(self, inputs, policy=None, output_count=1):
    """Runs the module with several inputs, and returns the first outputs as a tuple.
    """
    return _c.Module_forward_n(self, inputs, policy, output_count)


@_method
def close(self):
    """Releases the object now; closing it again does nothing."""
    if "_is_custom" in self.__dict__:
        self._owner.close()
    elif self.thisown:
        self.__swig_destroy__(self)


# Walks.


@_method
def named_children(self):
    """Pairs of a name and a module, in order."""
    yield from ((name, part) for name, part in list(parts(self, "_modules").items()) if part is not None)


@_method
def children(self):
    """The modules that are parts of this one."""
    yield from (part for _, part in self.named_children())


@_method
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


@_method
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


@_method
def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
    """Pairs of a name and a parameter, in order; a parameter that is in the module twice comes once."""
    require_no_hidden_parts(self)
    for name, parameter in _named_parts(self, "_parameters", prefix, recurse, remove_duplicate):
        parameter.__dict__["_path"] = name
        yield name, parameter


@_method
def parameters(self, recurse=True):
    """The parameters, in order."""
    yield from (parameter for _, parameter in self.named_parameters(recurse=recurse))


@_method
def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
    """Pairs of a name and a buffer, in order; also those that are not part of state dicts."""
    for which in ("_buffers", "_transient"):
        yield from _named_parts(self, which, prefix, recurse, remove_duplicate)


@_method
def buffers(self, recurse=True):
    """The tensors of the state that no optimizer updates."""
    yield from (buffer for _, buffer in self.named_buffers(recurse=recurse))


@_method
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


@_method
def child(self, index):
    """A part by its number.
    """
    _c.Module_child_name(self, index)  # the error of the library
    return list(self.children())[index]


# Modes, dtypes and devices.


@_method
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


@_method
def eval(self):
    """Switches to evaluation; returns the module."""
    return self.train(False)


@_method
def requires_grad_(self, requires_grad=True):
    """Freezes all parameters, or lets them train; returns the module."""
    for parameter in self.parameters():
        parameter.requires_grad = requires_grad
    return self


@_method
def zero_grad(self, set_to_none=True):
    """Drops the gradients of all parameters."""
    for parameter in self.parameters():
        parameter.grad = None


@_method
def apply(self, function):
    """Calls function(module) for every part, and then for this module, which it returns."""
    for part in self.children():
        part.apply(function)
    function(self)
    return self


_FLOATS = ("f64", "f32", "f16", "bf16")


@_method
def to(self, device=None, dtype=None):
    """Moves parameters and buffers to a device, or floats to a dtype; returns the module, whose parameters are the same
    objects. Make optimizers after it.
    """
    if device is not None and not isinstance(device, (Device, str)):
        device, dtype = None, device
    elif isinstance(device, str) and (device in _FLOATS or device.startswith(("float", "bfloat"))):
        device, dtype = None, device
    device = Device(device) if isinstance(device, str) else device
    moved = {}
    for module in self.modules():
        for name, parameter in parts(module, "_parameters").items():
            if parameter is not None:
                _move_parameter(module, name, parameter, device, dtype, moved)
        _move_buffers(module, device, dtype)
    weights_moved()
    return self


def _move_parameter(module, name, parameter, device, dtype, moved):
    if id(parameter) not in moved:
        values = parameter.detach().to(dtype, device)
        is_same = values.dtype == parameter.dtype and _name_of(values.device) == _name_of(parameter.device)
        moved[id(parameter)] = None
        if not is_same:
            moved[id(parameter)] = Parameter(values)
    made = moved[id(parameter)]
    if made is None:
        return
    _c.Module_replace_parameter(module, name, made.handle)
    if parameter.handle is not made.handle:
        parameter._replace(made.handle)


def _name_of(device):
    return device.name


def _move_buffers(module, device, dtype):
    for which in ("_buffers", "_transient"):
        for name, buffer in list(parts(module, which).items()):
            if buffer is None:
                continue
            is_float = str(buffer.dtype) in _FLOATS
            is_here = device is None or _name_of(buffer.device) == _name_of(device)
            if is_here and (dtype is None or not is_float or "_is_custom" not in module.__dict__):
                continue  # the running statistics of a layer of the library stay in their dtype
            if "_is_custom" not in module.__dict__:
                raise NotImplementedError(f"to: the buffers of {type(module).__name__} cannot move to another device; "
                                          "make the layer there: device=...")
            made = buffer.to(dtype if is_float else None, device)
            set_part(module, which, name, made)


def _converting(name, dtype):
    def convert(self):
        return self.to(dtype=dtype)

    convert.__name__ = name
    convert.__doc__ = f"Converts the parameters, and the floats among the buffers, to {dtype}; returns the module."
    return convert


for _name, _dtype in (("half", "f16"), ("bfloat16", "bf16"), ("float", "f32"), ("double", "f64")):
    setattr(Module, _name, _converting(_name, _dtype))
Module.cpu = lambda self: self.to("cpu")
Module.cuda = lambda self, device=None: self.to("cuda" if device is None else device)


# States.


@_method
def state_dict(self):
    """The parameters and buffers by their names.
    """
    require_no_hidden_parts(self)
    return _c.Module_state_dict(self)


@_method
def load_state_dict(self, state_dict, strict=True):
    """Copies values into parameters and buffers by their names: from a StateDict, or a dictionary of tensors. Returns
    the names that are missing and those that are unexpected, which strict=True refuses.
    """
    from ..modules import as_state_dict

    given = as_state_dict(state_dict, "load_state_dict")
    _c.Module_load_state_dict(self, given, strict)
    return LoadedKeys(_c.Module_missing_state(self, given).keys(), _c.Module_unexpected_state(self, given).keys())


class LoadedKeys(tuple):
    """The missing and the unexpected names of a load."""

    def __new__(cls, missing, unexpected):
        return super().__new__(cls, (missing, unexpected))

    missing_keys = property(lambda self: self[0])
    unexpected_keys = property(lambda self: self[1])

    def __repr__(self):
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"LoadedKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


@_method
def __deepcopy__(self, memo):
    made = _copied(self, memo)
    memo[id(self)] = made
    skipped = {*_PARTS, "_transient", "this", "_is_custom", *part_names(self), *parts(self, "_transient")}
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
    for which in (*_PARTS, "_transient"):
        for name, part in parts(self, which).items():
            _copy_part(made, which, name, part, memo)
    return made


def _copy_part(made, which, name, part, memo):
    is_tensor = part is not None and which in ("_buffers", "_transient")
    _set_or_keep_free(made, which, name, part.detach().clone() if is_tensor else copy.deepcopy(part, memo))


@_method
def __reduce_ex__(self, protocol):
    raise TypeError(f"a {type(self).__name__} cannot be pickled; save its state_dict()")


# Texts.


@_method
def extra_repr(self):
    """The settings that print() shows; a class may override it."""
    return ", ".join(f"{name}={value!r}" for name, value in self.__dict__.get("_settings", {}).items())


@_method
def _get_name(self):
    return type(self).__name__


@_method
def __repr__(self):
    try:
        rows = [f"({name}): " + repr(part).replace("\n", "\n  ") for name, part in self.named_children()]
    except Exception as error:  # a closed module still has a name
        return f"<{type(self).__name__}: {error}>"
    settings = self.extra_repr()
    if not rows:
        return f"{self._get_name()}({settings})"
    lines = ([settings] if settings else []) + rows
    return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class _Default:
    """A property that an attribute of an object hides, since it is the name of a part of many models."""

    def __init__(self, getter):
        self.getter, self.__doc__ = getter, getter.__doc__

    def __get__(self, made, kind=None):
        return self if made is None else self.getter(made)


Module.kind = _Default(vars(Module)["kind"])
Module.training = property(lambda self: _c.Module_is_training(self),
                           lambda self, mode: _c.Module_set_training(self, bool(mode)),
                           doc="True in training mode. A new module is.")
Module.register_forward_hook = hooks.register_forward_hook
Module.register_forward_pre_hook = hooks.register_forward_pre_hook
Module.add_forward_pre_hook = hooks.add_forward_pre_hook


@_method
def find(self, path):
    """The module at a path, as get_submodule()."""
    return self.get_submodule(path)



def _marking(function):
    def mark(self, *arguments, **settings):
        calls.may_recompute[0] = True
        return function(self, *arguments, **settings)

    mark.__name__, mark.__doc__ = function.__name__, function.__doc__
    mark.__signature__ = inspect.signature(function)
    return mark


for _name in ("set_recompute", "set_recompute_matching"):
    setattr(Module, _name, _marking(getattr(Module, _name)))
