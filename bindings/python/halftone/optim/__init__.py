"""Optimizers with PyTorch's names and arguments.

    optimizer = optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))

The settings of the library are keywords, too: compute_dtype="bf16" keeps a copy of the weights for autocast.
"""

import weakref

from .. import halftone as _generated
from ..halftone import Module, Parameters, Tensor
from ..halftone import Optimizer as _Native
from ..grad_mode import enable_grad
from ..leaves import weights_moved
from ..nn.parameter import Parameter, handle_of
from ..nn.utils import note_owner, zero_gradients

_c = _generated._halftone
_LIBRARY = ("compute_dtype", "grad_dtype", "moment1_dtype", "moment2_dtype", "master_storage", "min_8bit_size")


class _Group(dict):
    """The settings of a group, as they are in the library; setting one changes it there, from the next step on."""

    def __init__(self, optimizer, index, parameters):
        super().__init__(params=parameters)
        self._optimizer, self._index = weakref.ref(optimizer), index
        for name in optimizer._names():
            super().__setitem__(name, None)
        self._names = optimizer._names()

    def _read(self):
        return _c.Optimizer_group(self._optimizer(), self._index)

    def __getitem__(self, name):
        fields = self._names.get(name)
        if fields is None:
            return super().__getitem__(name)
        settings = self._read()
        return tuple(getattr(settings, each) for each in fields) if len(fields) > 1 else getattr(settings, fields[0])

    def __setitem__(self, name, value):
        fields = self._names.get(name)
        if fields is None:
            super().__setitem__(name, value)
            return
        settings = self._read()
        for field, each in zip(fields, value if len(fields) > 1 else (value,)):
            setattr(settings, field, each)
        _c.Optimizer_set_group(self._optimizer(), self._index, settings)

    def get(self, name, default=None):
        """A setting, or the default where there is none of the name."""
        return self[name] if name in self else default

    def items(self):
        """Pairs of a name and a value."""
        return [(name, self[name]) for name in self]

    def values(self):
        """The values."""
        return [self[name] for name in self]

    def update(self, *others, **settings):
        """Sets several."""
        for name, value in dict(*others, **settings).items():
            self[name] = value

    def __repr__(self):
        return repr(dict(self.items()))


class Optimizer(_Native):
    """Updates parameters: of a module, or groups as dictionaries of "params" and settings that differ."""

    _rule = ""
    # PyTorch's name of a setting, and its fields in the library.
    _settings = {"lr": ("lr",), "weight_decay": ("weight_decay",)}

    def __init__(self, params, **settings):
        kind = type(self).__name__
        if not self._rule:
            raise TypeError("Optimizer: use a class such as optim.AdamW")
        if isinstance(params, Module):
            params = params.parameters()
        given = list(params)
        if not given:
            raise ValueError(f"{kind}: params is empty")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        self.__dict__["defaults"] = settings
        self.__dict__["param_groups"] = []
        for group in groups:
            if not isinstance(group, dict):
                raise TypeError(f"{kind}: params must be Parameters, or dictionaries with 'params', got "
                                f"{type(group).__name__}")
            self.add_param_group(group)

    @classmethod
    def _names(cls):
        return {**Optimizer._settings, **cls._settings}

    def _library_settings(self, group):
        known, made = self._names(), {}
        for name, value in {**self.defaults, **group}.items():
            if name in ("params", "name", "initial_lr"):
                continue
            if name in _LIBRARY:
                made[name] = value
            elif name not in known:
                raise TypeError(f"{type(self).__name__}: {name!r} is no setting; known are "
                                f"{', '.join((*known, *_LIBRARY))}")
            else:
                fields = known[name]
                values = value if len(fields) > 1 else (value,)
                if len(fields) != len(values):
                    raise ValueError(f"{type(self).__name__}: {name} must be {len(fields)} numbers, got {value!r}")
                made.update(zip(fields, values))
        return made

    def add_param_group(self, param_group):
        """Adds a group: a dictionary of "params" and the settings that differ."""
        kind = type(self).__name__
        if "params" not in param_group:
            raise ValueError(f"{kind}: a group must have 'params', got {', '.join(map(repr, param_group))}")
        given = param_group["params"]
        parameters = [given] if isinstance(given, Tensor) else list(given)
        if all(isinstance(item, tuple) and len(item) == 2 for item in parameters):  # of named_parameters()
            parameters = [parameter for _, parameter in parameters]
        for parameter in parameters:
            if not isinstance(parameter, (Parameter, _generated.Parameter)):
                advice = "; make it an nn.Parameter" if isinstance(parameter, Tensor) else ""
                raise TypeError(f"{kind}: params must be Parameters, got {type(parameter).__name__}{advice}")
        if not parameters:
            raise ValueError(f"{kind}: the group has no parameters")
        parameters = [item if isinstance(item, Parameter) else Parameter._of(item) for item in parameters]
        settings = self._library_settings(param_group)
        frozen = [parameter for parameter in parameters if parameter.frozen]
        for parameter in frozen:
            parameter.frozen = False
        try:
            self._add(set_of(parameters), settings)
        finally:
            for parameter in frozen:
                parameter.frozen = True
        group = _Group(self, len(self.param_groups), parameters)
        for name, value in param_group.items():
            if name in ("name", "initial_lr"):
                dict.__setitem__(group, name, value)
        self.param_groups.append(group)
        note_owner(self, parameters)
        weights_moved()

    def _add(self, parameters, settings):
        if self.param_groups:
            getattr(_c, f"Optimizer_add_{self._rule}_group")(self, parameters, **settings)
        else:
            self.__dict__["this"] = getattr(_Native, f"{self._rule}_over")(parameters, **settings).this

    def _parameters(self):
        return [parameter for group in self.param_groups for parameter in dict.__getitem__(group, "params")]

    def step(self, closure=None):
        """Updates the parameters. A closure computes the loss anew before it; its result is returned."""
        loss = None if closure is None else enable_grad()(closure)()
        _c.Optimizer_step(self)
        return loss

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or writes zeros into them with set_to_none=False."""
        if set_to_none:
            _c.Optimizer_zero_grad(self)
        else:
            zero_gradients(self._parameters())

    def load_state_dict(self, state_dict, strict=True, keep_settings=False):
        """Loads the state that state_dict() returned.
        """
        from ..modules import as_state_dict

        _c.Optimizer_load_state_dict(self, as_state_dict(state_dict, "load_state_dict"), strict, keep_settings)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {name}: {group[name]}" for name in group if name != "params"]
        return "\n".join([*lines, ")"])


def set_of(parameters):
    """A set of the library, in which the parameters have the names that they had in the last walk over a module. A tree
    of modules gives them these names.
    """
    root, taken = _Tree(), set()
    for index, parameter in enumerate(parameters):
        path = parameter.__dict__.get("_path") or f"parameter{index}"
        while path in taken or not root.add(path.split("."), parameter):
            path = f"{path}_{index}"
        taken.add(path)
    return Parameters.from_module(root.module)


class _Tree:
    def __init__(self):
        self.module = Module.custom(_not_run)
        self.children, self.names = {}, set()

    def add(self, path, parameter):
        """Returns false where a part of another sort has the name."""
        name = path[0]
        if len(path) == 1:
            if name in self.names or name in self.children:
                return False
            _c.Module_add_parameter(self.module, name, handle_of(parameter))
            self.names.add(name)
            return True
        if name in self.names:
            return False
        if name not in self.children:
            self.children[name] = _Tree()
            _c.Module_add_child(self.module, name, self.children[name].module)
        return self.children[name].add(path[1:], parameter)


def _not_run(module, inputs):
    raise NotImplementedError("this module only names parameters")


def _refuse(optimizer, **settings):
    for name, value in settings.items():
        if value:
            raise NotImplementedError(f"{type(optimizer).__name__}: {name}={value!r} is not supported")


_BETAS = {"betas": ("beta1", "beta2")}
_EPS = {"eps": ("epsilon",)}


class AdamW(Optimizer):
    """Adam with decoupled weight decay."""

    _rule, _settings = "adamw", {**_BETAS, **_EPS}

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None, **library):
        _refuse(self, amsgrad=amsgrad, maximize=maximize, capturable=capturable, differentiable=differentiable)
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **library)


class Adam(Optimizer):
    """Adam; weight decay is added to the gradient."""

    _rule, _settings = "adam", {**_BETAS, **_EPS}

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None, **library):
        _refuse(self, amsgrad=amsgrad, maximize=maximize, capturable=capturable, differentiable=differentiable)
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **library)


class SGD(Optimizer):
    """Gradient descent with momentum."""

    _rule = "sgd"
    _settings = {"momentum": ("momentum",), "dampening": ("dampening",), "nesterov": ("nesterov",)}

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None, **library):
        _refuse(self, maximize=maximize, differentiable=differentiable)
        super().__init__(params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=nesterov, **library)


class RMSprop(Optimizer):
    """The gradient divided by the root of the running mean of its square."""

    _rule = "rmsprop"
    _settings = {"alpha": ("alpha",), **_EPS, "momentum": ("momentum",), "centered": ("centered",)}

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, *,
                 capturable=False, foreach=None, maximize=False, differentiable=False, **library):
        _refuse(self, maximize=maximize, capturable=capturable, differentiable=differentiable)
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                         centered=centered, **library)


class Adafactor(Optimizer):
    """Steps in proportion to the weights, with little memory for moments."""

    _rule = "adafactor"
    _settings = {"beta2_decay": ("beta2_decay",), "eps": ("epsilon1", "epsilon2"), "d": ("clip_threshold",)}

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *,
                 maximize=False, foreach=None, **library):
        _refuse(self, maximize=maximize)
        eps = (2.0**-23 if eps[0] is None else eps[0], eps[1])
        super().__init__(params, lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, **library)


class Lion(Optimizer):
    """Every element moves by the learning rate in the direction of a moment."""

    _rule, _settings = "lion", _BETAS

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, **library):
        super().__init__(params, lr=lr, betas=betas, weight_decay=weight_decay, **library)


from . import lr_scheduler  # noqa: E402: it needs the class above

__all__ = ["Adafactor", "Adam", "AdamW", "Lion", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]
