"""Modules of modules, and lists of parameters."""

from .. import halftone as _generated
from ..halftone import Module
from .kinds import KINDS
from .parts import note_holder, parts
from .parameter import Parameter

_c = _generated._halftone


def _require(kind, wanted, value):
    if not isinstance(value, wanted):
        raise TypeError(f"{kind}: a part must be a {wanted.__name__}, got {type(value).__name__}")
    return value


class _Row(Module):
    """Parts with the numbers from 0 on as names, and Python's interface of a list."""

    _which, _wanted, _shows_parts = "_modules", Module, False

    def _parts(self):
        return list(parts(self, self._which).values())

    def _at(self, index):
        count = len(self)
        position = index.__index__() if hasattr(index, "__index__") else None
        if position is None:
            raise TypeError(f"{type(self).__name__}: an index must be an int or a slice, got {type(index).__name__}")
        if not -count <= position < count:
            raise IndexError(f"{type(self).__name__}: index {position} is out of range for {count} parts")
        return position % count

    def __len__(self):
        return len(parts(self, self._which))

    def __iter__(self):
        return iter(self._parts())

    def __contains__(self, part):
        return any(part is own for own in self._parts())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._parts()[index])
        return self._parts()[self._at(index)]

    def __setitem__(self, index, part):
        if isinstance(index, slice):
            own = self._parts()
            own[index] = list(part)
            self._set_all(own)
        else:
            names = list(parts(self, self._which))
            setattr(self, names[self._at(index)], _require(type(self).__name__, self._wanted, part))

    def __delitem__(self, index):
        own = self._parts()
        del own[index if isinstance(index, slice) else self._at(index)]
        self._set_all(own)

    def __iadd__(self, others):
        return self.extend(others)

    def __add__(self, others):
        return type(self)([*self, *others])

    def _set_all(self, wanted):
        """Parts from the first that differs on are removed and added again, since the numbers are the names."""
        for part in wanted:
            _require(type(self).__name__, self._wanted, part)
        own = self._parts()
        same = next((i for i, (a, b) in enumerate(zip(own, wanted)) if a is not b), min(len(own), len(wanted)))
        for name in list(parts(self, self._which))[:same - 1 if same else None:-1]:
            delattr(self, name)
        for position, part in enumerate(wanted[same:], same):
            setattr(self, str(position), part)

    def append(self, part):
        """Adds a part at the end; returns the container."""
        setattr(self, str(len(self)), _require(type(self).__name__, self._wanted, part))
        return self

    def extend(self, others):
        """Adds parts at the end; returns the container."""
        for part in list(others):
            self.append(part)
        return self

    def insert(self, index, part):
        """Adds a part before another one; the parts behind have new numbers."""
        own = self._parts()
        own.insert(index, part)
        self._set_all(own)
        return self

    def pop(self, index=-1):
        """Removes a part and returns it."""
        part = self[index]
        del self[index]
        return part


class Sequential(_Row):
    """Modules one after another: nn.Sequential(a, b), of a list of modules, or of a dictionary of named ones."""

    def __init__(self, *modules):
        if len(modules) == 1 and isinstance(modules[0], (list, tuple)) and not isinstance(modules[0], Module):
            modules = tuple(modules[0])
        named = dict(modules[0]) if len(modules) == 1 and isinstance(modules[0], dict) else None
        given = list(named.values() if named is not None else modules)
        for module in given:
            _require("Sequential", Module, module)
        if type(self).forward is not Sequential.forward:
            Module.__init__(self)
            for name, module in zip(named or map(str, range(len(given))), given):
                setattr(self, name, module)
            return
        self._hold(list(named) if named else None, given)

    def _hold(self, names, given):
        """Makes the library's module of modules, which have names or numbers."""
        made = Module.named_sequential(names, given) if names else Module.sequential(given)
        self.__dict__["this"] = made.this
        self.__dict__.update(_modules=dict(zip(names or map(str, range(len(given))), given)), _parameters={},
                             _buffers={}, _transient={})
        for module in given:
            note_holder(module, self)

    def forward(self, input, **settings):
        if "_is_custom" not in self.__dict__:
            return self._compute(input, **settings)
        for module in self:
            input = module(input)
        return input


KINDS.update(sequential=Sequential, named_sequential=Sequential)


class Identity(Sequential):
    """Returns its input. It accepts and ignores any arguments, as PyTorch's does."""

    def __init__(self, *arguments, **settings):
        super().__init__()

    def __repr__(self):
        return "Identity()"


class ModuleList(_Row):
    """A list of modules, which train and are saved with the module that it is set in."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)


class ModuleDict(Module):
    """Modules by name, which train and are saved with the module that it is set in."""

    _which, _wanted, _shows_parts = "_modules", Module, False

    def __init__(self, modules=()):
        super().__init__()
        self.update(modules)

    def __len__(self):
        return len(parts(self, self._which))

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, name):
        return name in parts(self, self._which)

    def __getitem__(self, name):
        return parts(self, self._which)[name]

    def __setitem__(self, name, part):
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}: a name must be a str, got {type(name).__name__}")
        setattr(self, name, _require(type(self).__name__, self._wanted, part))

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        delattr(self, name)

    def keys(self):
        """The names, in order."""
        return list(parts(self, self._which))

    def values(self):
        """The parts, in order."""
        return list(parts(self, self._which).values())

    def items(self):
        """Pairs of a name and a part, in order."""
        return list(parts(self, self._which).items())

    def update(self, others):
        """Adds or replaces parts: of a dictionary, or pairs of a name and a part."""
        for name, part in others.items() if hasattr(others, "items") else others:
            self[name] = part

    def pop(self, name):
        """Removes a part and returns it."""
        part = self[name]
        del self[name]
        return part


class ParameterList(_Row):
    """A list of parameters, which train and are saved with the module that it is set in."""

    _which, _wanted = "_parameters", Parameter

    def __init__(self, parameters=()):
        super().__init__()
        self.extend(parameters)


class ParameterDict(ModuleDict):
    """Parameters by name, which train and are saved with the module that it is set in."""

    _which, _wanted = "_parameters", Parameter


__all__ = ["Identity", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
