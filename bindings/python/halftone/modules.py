"""Objects of the library in Python's idiom: properties, states as dictionaries, and weights that move."""

import functools

from . import halftone as _generated
from .halftone import (
    Context,
    Device,
    Fsdp,
    Group,
    Module,
    MovingAverage,
    Optimizer,
    Parameter,
    Parameters,
    StateDict,
    Tensor,
)
from .leaves import weights_moved


def _own(owner, name):
    """The method itself; by owner.name it would be a function that binds to no object."""
    return vars(owner)[name]


Parameters.__len__ = _own(Parameters, "count")
Parameters.__getitem__ = _own(Parameters, "at")
Parameters.__iter__ = lambda self: (self.at(index) for index in range(self.count()))


# Attributes of an object, as opposed to its actions.
_PROPERTIES = {
    Context: ["num_threads"],
    Device: ["kind", "name"],
    Group: ["kind", "rank", "size"],
    Optimizer: ["lr", "step_count"],
    Parameter: ["dtype", "grad", "name", "shape", "tensor"],
}
for _class, _names in _PROPERTIES.items():
    for _name in _names:
        _getter = getattr(_class, _name)
        setattr(_class, _name, property(_getter, doc=_getter.__doc__))

StateDict.__len__ = _own(StateDict, "count")
StateDict.__getitem__ = _own(StateDict, "find")
StateDict.keys = lambda self: [self.name(index) for index in range(self.count())]
StateDict.values = lambda self: [self.tensor(index) for index in range(self.count())]
StateDict.__iter__ = lambda self: iter(self.keys())
StateDict.__contains__ = lambda self, name: name in self.keys()
StateDict.items = lambda self: [(self.name(index), self.tensor(index)) for index in range(self.count())]
StateDict.get = lambda self, name, default=None: self.find(name) if name in self.keys() else default
StateDict.__repr__ = lambda self: "StateDict(" + ", ".join(
    f"{name}: {list(tensor.shape)}" for name, tensor in self.items()) + ")"


def as_state_dict(given, function):
    """A state of the library, of a dictionary of tensors."""
    if isinstance(given, StateDict):
        return given
    if not hasattr(given, "items"):
        raise TypeError(f"{function}: state_dict must be a StateDict or a dictionary, got {type(given).__name__}")
    made = StateDict()
    for name, value in given.items():
        if not isinstance(value, Tensor):
            value = _generated_tensor(value)
        made.add(name, value.detach())
    return made


def _generated_tensor(value):
    from .buffers import tensor

    return tensor(value)


def _rebuilt(self, items):
    """Puts other tensors into the object."""
    self.this = state_of(items, _texts(self)).this


def _set_item(self, name, tensor):
    if name in self:
        _rebuilt(self, [(key, tensor if key == name else value) for key, value in self.items()])
    else:
        self.add(name, tensor)


def _delete_item(self, name):
    if name not in self:
        raise KeyError(name)
    _rebuilt(self, [(key, value) for key, value in self.items() if key != name])


def _pop(self, name, *default):
    """Removes a tensor and returns it."""
    if name not in self.keys() and default:
        return default[0]
    found = self[name]
    _delete_item(self, name)
    return found


def _update(self, others):
    """Adds or replaces tensors."""
    for name, tensor in others.items():
        self[name] = tensor


def _texts(self):
    return {key: self.text(key) for key in map(self.text_key, range(self.text_count()))}


def state_of(items, texts):
    """A state of pairs of a name and a tensor, and of texts by name."""
    made = StateDict()
    for name, tensor in items:
        made.add(name, tensor)
    for key, text in texts.items():
        made.set_text(key, text)
    return made


StateDict.texts = _texts
StateDict.__reduce_ex__ = lambda self, protocol: (state_of, (self.items(), _texts(self)))
StateDict.__setitem__, StateDict.__delitem__, StateDict.pop, StateDict.update = _set_item, _delete_item, _pop, _update


# These calls give weights other memory, and those of an optimizer note who scales and clips gradients.


def _moving(function):
    @functools.wraps(function)
    def move(*arguments, **settings):
        given = arguments[0] if arguments else settings.get("module")
        parameters = list(given.parameters()) if isinstance(given, Module) else None
        made = function(*arguments, **settings)
        weights_moved()
        if isinstance(made, Optimizer) and parameters is not None:
            _note(made, parameters)
        return made

    return move


def _note(optimizer, parameters):
    from .nn.utils import note_owner

    optimizer.__dict__["_parameters"] = parameters
    note_owner(optimizer, parameters)


def _with_pytorch_arguments(rule, over):
    """The rule over a module also accepts parameters, and betas as one argument."""
    @functools.wraps(rule)
    def make(module, *arguments, **settings):
        if "betas" in settings:
            settings["beta1"], settings["beta2"] = settings.pop("betas")
        if isinstance(module, Module):
            return rule(module, *arguments, **settings)
        from .optim import set_of
        from .nn.parameter import Parameter as TensorOfModule

        parameters = list(module) if hasattr(module, "__iter__") else [module]
        if not parameters or not all(isinstance(item, TensorOfModule) for item in parameters):
            return rule(module, *arguments, **settings)  # the error of the library
        made = over(set_of(parameters), *arguments, **settings)
        _note(made, parameters)
        return made

    return make


for _name, _value in list(vars(Optimizer).items()):
    if isinstance(_value, staticmethod):
        _made = _moving(getattr(Optimizer, _name))
        _over = getattr(Optimizer, f"{_name}_over", None)
        _made = _made if _over is None else _with_pytorch_arguments(_made, _moving(_over))
        setattr(Optimizer, _name, staticmethod(_made))
    elif _name.startswith("add_") and _name.endswith("_group"):
        setattr(Optimizer, _name, _moving(_value))
for _class, _names in ((Fsdp, ("__init__",)), (MovingAverage, ("swap",)), (Parameter, ("set_frozen",))):
    for _name in _names:
        setattr(_class, _name, _moving(getattr(_class, _name)))


def _add_parameter(self, parameter):
    """Adds a parameter at the end.
    """
    _add(self, getattr(parameter, "handle", parameter))


_add, Parameters.add = Parameters.add, _add_parameter
Parameter.frozen = property(Parameter.is_frozen, Parameter.set_frozen, doc=Parameter.is_frozen.__doc__)
