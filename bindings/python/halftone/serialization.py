"""save and load: tensors and modules in nested dicts, lists and tuples, with numbers and texts beside them, in the
format of safetensors. A file holds no code, so a file of a stranger can be read. Its text "halftone" is the structure
as JSON; each tensor has its path in the structure as its name, so that other readers find those of a state dict, too.
"""

import os
from collections.abc import Mapping

from . import halftone as _generated
from .checks import describe, wrong
from .devices import device_of
from .halftone import Context, Module, Parameter, StateDict, Tensor
from .modules import state_of
from .registry import function

_KEY = "halftone"
_VERSION = 1
_LONGEST_NAME = 1000
_PLAIN = (type(None), bool, int, float, str)


class _Writer:
    """Puts the tensors of a structure into a state dict. A tensor that comes twice is kept once."""

    def __init__(self):
        self.tensors = StateDict()
        self.names = {}  # by the identity of the tensor; self.kept keeps it, so that no other object gets it
        self.used, self.kept, self.modules = set(), [], {}

    def describe(self, value, path):
        """The structure of a value as JSON has it: a list whose first item is its kind."""
        if type(value) in _PLAIN:
            return ["plain", value]
        if isinstance(value, (Tensor, Parameter)):
            return self.describe_tensor(value, path)
        if isinstance(value, Module):
            return self.describe_module(value, path)
        if isinstance(value, (StateDict, Mapping)):
            rows = [[self.key(key, path), self.describe(item, (*path, str(key)))] for key, item in value.items()]
            texts = value.texts() if isinstance(value, StateDict) else {}  # the settings of an optimizer
            return ["state", rows, texts] if texts else ["dict", rows]
        if type(value) in (list, tuple) or isinstance(value, tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return [kind, [self.describe(item, (*path, str(index))) for index, item in enumerate(value)]]
        expected = "a Tensor, a Module, a number, a str, None, a dict, a list or a tuple"
        raise wrong("save", self.place(path), expected, value)

    def place(self, path):
        return "obj" + "".join(f"[{part!r}]" for part in path)

    def key(self, key, path):
        if type(key) not in _PLAIN:
            raise TypeError(f"save: {self.place(path)} has a key that is no str or number, got {describe(key)}")
        return key

    def describe_tensor(self, value, path):
        source, is_of_module = value.tensor if isinstance(value, Parameter) else value, hasattr(value, "whole")
        if id(value) not in self.names:
            self.names[id(value)] = self.name(path)
            self.kept.append(value)
            self.tensors.add(self.names[id(value)], value.whole() if is_of_module else source.detach())
        kind = "parameter" if is_of_module else "tensor"
        return [kind, self.names[id(value)], bool(source.requires_grad)]

    def describe_module(self, module, path):
        """A module comes once, too: one that is a part of several is one after load()."""
        from .nn.copies import require_origin
        from .nn.copies import state_of as state_of_module

        if id(module) not in self.modules:
            self.modules[id(module)] = len(self.modules)
            self.kept.append(module)
            kind = type(module)
            content = [self.describe(item, path) for item in (require_origin(module, "save"), state_of_module(module))]
            return ["module", f"{kind.__module__}:{kind.__qualname__}", self.modules[id(module)], *content]
        return ["same", self.modules[id(module)]]

    def name(self, path):
        made = ".".join(path) or "tensor"
        if len(made) > _LONGEST_NAME or not made.isprintable() or made == "__metadata__":
            made = "tensor"
        count, unique = 1, made
        while unique in self.used:
            count += 1
            unique = f"{made}:{count}"
        self.used.add(unique)
        return unique


class _Reader:
    """Makes the structure anew from the tensors of a file."""

    def __init__(self, tensors, device, weights_only):
        self.tensors, self.made, self.modules = tensors, {}, {}
        self.device, self.weights_only = device, weights_only

    def build(self, described):
        kind, content = described[0], described[1]
        if kind == "plain":
            return content
        if kind == "dict":
            return {key: self.build(item) for key, item in content}
        if kind == "state":
            return state_of([(key, self.build(item)) for key, item in content], described[2])
        if kind in ("list", "tuple"):
            items = [self.build(item) for item in content]
            return items if kind == "list" else tuple(items)
        if kind == "module":
            return self.build_module(*described[1:])
        if kind == "same":
            return self.modules[content]
        if kind not in ("tensor", "parameter"):
            raise ValueError(f"load: the file has a {kind!r}, which this version of halftone does not know")
        if content not in self.made:
            self.made[content] = self.build_tensor(kind, self.tensors[content], described[2])
        return self.made[content]

    def build_tensor(self, kind, tensor, requires_grad):
        if kind == "parameter":
            from .nn.parameter import Parameter as TensorOfModule

            return TensorOfModule(tensor, requires_grad)
        if requires_grad:
            tensor.set_requires_grad()
        return tensor

    def build_module(self, name, number, origin, state):
        from .nn.copies import made_anew

        origin = self.build(origin)
        if origin[0] == "layer" and "device" in origin[2]:
            origin[2]["device"] = self.device
        made = made_anew(_class_of(name, self.weights_only), origin)
        self.modules[number] = made
        made.__setstate__(self.build(state))
        return made


def _class_of(name, weights_only):
    """The class of a module. That of a program is code, which a file must not choose by itself."""
    module, _, path = name.partition(":")
    if not module.startswith("halftone.nn.") and weights_only:
        raise ValueError(f"load: the file has a module of the class {module}.{path}; if you trust the file, "
                         "weights_only=False makes one")
    import importlib

    found = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, Module):
        raise ValueError(f"load: {module}.{path} is no class of modules")
    return found


@function
def save(obj, f):
    """Writes a tensor, a module, or dicts, lists and tuples of them, numbers and texts, to a file.

        halftone.save(model.state_dict(), "model.safetensors")
        halftone.save({"step": 7, "weights": [a, b]}, "state.safetensors")
        halftone.save(model, "whole.safetensors")

    f: a path, or an object with write(). A tensor keeps whether it requires a gradient, and one that comes twice is
    one tensor after load(), too. Of a module it keeps the class's name, the parts, the modes and the attributes.
    """
    import json

    writer = _Writer()
    structure = {"version": _VERSION, "content": writer.describe(obj, ())}
    writer.tensors.set_text(_KEY, json.dumps(structure))
    if hasattr(f, "write"):
        f.write(_generated.safetensors_save_memory(writer.tensors))
    else:
        _generated.safetensors_save(Context.default_context(), _path("save", f), writer.tensors)


def _path(name, f):
    try:
        return os.fsdecode(f)
    except TypeError:
        raise wrong(name, "f", "a path or a file", f) from None


@function
def load(f, map_location=None, *, weights_only=True):
    """Reads the objects of a file that save() wrote; of another safetensors file a dict of its tensors.

    f: a path, or an object with read().
    map_location: the device of the tensors and modules, the default device without one.
    weights_only: False makes modules of any class that the file names, which runs code of the class; True only of
        those of halftone.nn.
    """
    import json

    device = device_of("load", map_location)
    if hasattr(f, "read"):
        tensors = _generated.safetensors_load_memory(device, f.read())
    else:
        tensors = _generated.safetensors_load(device, _path("load", f))
    keys = [tensors.text_key(index) for index in range(tensors.text_count())]
    if _KEY not in keys:
        return dict(tensors.items())
    structure = json.loads(tensors.text(_KEY))
    if structure.get("version") != _VERSION:
        raise ValueError(f"load: the file has version {structure.get('version')}, expected {_VERSION}")
    return _Reader(tensors, device, weights_only).build(structure["content"])
