"""Devices as arguments: an object, a name such as "cuda:0", or None for the default device."""

from . import halftone as _generated
from .checks import wrong
from .halftone import Device
from .registry import function

# Devices of the default context by name. They outlive every scope().
_named = {}
_default = "cpu"


def _by_name(name):
    if name not in _named:
        made = Device(name)
        _generated.keep_handle(made)
        _named[name] = made
    return _named[name]


def default_device():
    """The device of new tensors for which no other one is named: the CPU of the default context at first. It outlives a
    scope() in which the first call comes.
    """
    return _by_name(_default) if isinstance(_default, str) else _default


def set_default_device(device):
    """Chooses the device of new tensors and layers for which no other one is named: a Device or a name."""
    global _default
    found = device_of("set_default_device", device)
    _default = device if isinstance(device, str) else found


def device_of(function, value):
    """The device that an argument names."""
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return _by_name(value)
    if value is None:
        return default_device()
    raise wrong(function, "device", "a Device or a name such as 'cpu'", value)


@function
def device(type, index=None):
    """The device of a name, such as "cuda:1", or of a type and a number."""
    if isinstance(type, Device) and index is None:
        return type
    if not isinstance(type, str) or index is not None and ":" in type:
        raise wrong("device", "type", "a name such as 'cuda:1', or 'cuda' with an index", type)
    return device_of("device", type if index is None else f"{type}:{index}")


def _index(self):
    """The number behind the type, or None for a CPU."""
    number = self.name.partition(":")[2]
    return int(number) if number else None


# Objects of one device are equal. Those of two contexts have one name, too, but no program has both by chance.
Device.__eq__ = lambda self, other: self.name == other.name if isinstance(other, Device) else NotImplemented
Device.__deepcopy__ = lambda self, memo: self
Device.__hash__ = lambda self: hash(self.name)
Device.type = property(lambda self: self.name.partition(":")[0], doc='The name without a number: "cpu" or "cuda".')
Device.index = property(_index, doc=_index.__doc__)
