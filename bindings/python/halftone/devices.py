"""Devices as arguments: an object, a name such as "cuda:0", or None for the default device."""

from . import halftone as _generated
from .checks import wrong
from .halftone import Device

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
