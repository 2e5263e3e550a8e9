"""Classes of the library's layers, each of which is made of a row: its name, its arguments and its function."""

from typing import Any, Callable, NamedTuple

from .. import halftone as _generated
from ..devices import device_of
from ..dtypes import get_default_dtype
from ..halftone import Module, Tensor
from .constructors import add_constructor
from .image_functions import pad
from .kinds import KINDS
from .parts import parts, set_part

_c = _generated._halftone
_CLASSES = {}


class Row(NamedTuple):
    """A layer of the table."""

    name: str
    create: str  # the library's function, whose name is that of its modules' kind
    make: Callable[..., Any]  # calls it: of the row and the layer's arguments, which are those behind the row
    text: str
    shown: str = ""  # what print() shows: "a" the value, "a=" with its name, "a?" unless it is the default
    dims: int = 0  # that one number stands for
    states: int = 0  # that a recurrent layer passes on

    def create_module(self, *arguments, **settings):
        return getattr(Module, self.create)(*arguments, **settings)

    def signature(self):
        """The arguments of the class. Functions without arguments of their own have those of the library."""
        import inspect

        found = list(inspect.signature(self.make).parameters.values())[1:]
        if [item.name for item in found] == ["settings"]:
            known = inspect.signature(getattr(Module, self.create)).parameters.values()
            place = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
            found = [item for item in known if item.name != "device"] + [place]
        return inspect.Signature(found)


class Layer(Module):
    """A module that the library computes. A class that derives from one may have a forward of its own; super().forward
    is then that of the layer.
    """

    _row = _own_signature = None
    _optional = ()  # parameters that are None where the layer has none

    def _begin(self, kind, arguments):
        """Makes the library's module. `kind` is the class of the row, which a class of a user may derive from."""
        arguments = kind._resolved(arguments)
        made, settings = kind._made_of(arguments)
        if type(self).forward is Layer.forward and settings.get("padding_mode", "zeros") == "zeros":
            self.__dict__["this"] = made.this
        else:
            Module.__init__(self)
            self.__dict__["_native"] = made
            for which in ("_parameters", "_buffers"):
                for name, part in parts(made, which).items():
                    set_part(self, which, name, part)
        self.__dict__.update(_made=(kind, arguments), _settings=settings)
        self.__dict__.update((name, value) for name, value in settings.items() if name != "bias")
        for name in self._optional:
            parts(self, "_parameters").setdefault(name, None)

    @classmethod
    def _resolved(cls, arguments):
        """The arguments with a device and a dtype, which defaults do not change later."""
        given = dict(arguments)
        if "device" in given:
            given["device"] = device_of(cls.__name__, given["device"])
        if given.get("dtype", "") is None:
            given["dtype"] = get_default_dtype()
        return given

    @classmethod
    def _made_of(cls, arguments):
        """The library's module, and the settings that the object shows."""
        made = cls._row.make(cls._row, **arguments)
        made, changed = made if isinstance(made, tuple) else (made, {})
        settings = {**arguments, **changed} if cls._row.shown else {}
        return made, {name: value for name, value in settings.items() if name not in ("device", "dtype")}

    def forward(self, *inputs, **settings):
        native = self.__dict__.get("_native")
        if native is None:
            return self._compute(*inputs, **settings)
        _c.Module_set_training(native, self.training)
        for name, parameter in parts(self, "_parameters").items():
            if parameter is not parts(native, "_parameters").get(name):
                setattr(native, name, parameter)
        return self._compute_by(native, *inputs, **settings)

    def _compute_by(self, native, *inputs, **settings):
        """Runs the library's module of the layer."""
        return Module._compute(native, *inputs, **settings)

    def extra_repr(self):
        shown = [_shown(self, item.strip()) for item in self._row.shown.split(",")] if self._row else []
        return ", ".join(text for text in shown if text)


def _shown(layer, item):
    """One item of Row.shown. A layer that the library made, as a part of a transformer, has no settings."""
    name = item.rstrip("=?")
    settings = layer.__dict__.get("_settings") or _read(layer)
    if name not in settings:
        return ""
    value = layer.__dict__.get(name, settings[name])
    if name == "bias" and not layer._row.states:
        value = layer.bias is not None
    if item.endswith("?") and _is_usual(value, layer._own_signature().parameters[name].default):
        return ""
    return repr(value) if item == name else f"{name}={value!r}"


def _is_usual(value, default):
    return value == default or isinstance(value, tuple) and all(item == default for item in value)


def _read(layer):
    """The settings that the weight shows."""
    if layer._row.name == "Linear":
        return {"out_features": layer.weight.shape[0], "in_features": layer.weight.shape[1], "bias": None}
    if layer._row.name == "Embedding":
        return {"num_embeddings": layer.weight.shape[0], "embedding_dim": layer.weight.shape[1]}
    return {}


class Recurrent(Layer):
    """A layer over time, with states that go from one call to the next."""

    def _compute(self, *inputs, **settings):
        return self._compute_by(self, *inputs, **settings)

    def _compute_by(self, native, input, hx=None, policy=None):
        count = self._row.states
        states = () if hx is None else (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if states and len(states) != count:
            raise TypeError(f"{type(self).__name__}: hx must be {count} tensors, got {len(states)}")
        is_turned = not self.__dict__.get("batch_first", True)
        x = _generated.transpose(input, 0, 1) if is_turned else input
        output, *ends = _c.Module_forward_n(native, [x, *states], policy, 1 + count)
        output = _generated.transpose(output, 0, 1) if is_turned else output
        return output, (tuple(ends) if count > 1 else ends[0])


PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Layer):
    """A convolution. The library's module pads with zeros; with another mode the input is padded before it."""

    def _compute_by(self, native, input, **settings):
        if self.padding_mode != "zeros":
            input = pad(input, [size for size in reversed(self.padding) for _ in range(2)], self.padding_mode)
        return super()._compute_by(native, input, **settings)


def _optional(row, arguments):
    if row.states:
        return ()
    bias = ("bias",) if {"bias", "affine"} & set(arguments) else ()
    return ("weight", *bias) if {"affine", "elementwise_affine"} & set(arguments) else bias


def class_of(row, module):
    """The class of a row, in the Python module of a name."""
    taken = row.make.__code__.co_varnames[:row.make.__code__.co_argcount]
    base = Recurrent if row.states else Convolution if "padding_mode" in taken else Layer
    kind = type(row.name, (base,), {"__doc__": row.text, "__module__": module, "_row": row,
                                    "_optional": _optional(row, taken)})
    kind._own_signature = add_constructor(kind, row.signature, lambda self, arguments: self._begin(kind, arguments))
    KINDS.setdefault(row.create, kind)
    _CLASSES[row.name] = kind
    return kind


def class_named(name):
    """The class of the row with a name."""
    return _CLASSES[name]
