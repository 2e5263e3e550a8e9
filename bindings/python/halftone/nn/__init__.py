"""Layers by their usual names: nn.Linear(784, 256) is Module.linear on the CPU. The arguments are those of the function
that each name's documentation shows; the device is a keyword.
"""

import inspect

from .buffers import default_device
from .halftone import Module

_NAMES = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "lstm": "LSTM", "gru": "GRU", "rms_norm": "RMSNorm"}
_NOT_LAYERS = {"sequential", "close"}


def _layer(name, create):
    parameters = list(inspect.signature(create).parameters)
    if parameters[:1] == ["device"]:

        def layer(*arguments, device=None, **settings):
            return create(device or default_device(), *arguments, **settings)
    else:

        def layer(*arguments, **settings):
            return create(*arguments, **settings)

    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = create.__doc__
    return layer


def Sequential(*modules):
    """A chain of modules."""
    return Module.sequential(modules)


def _collect():
    for key, value in vars(Module).items():
        if isinstance(value, staticmethod) and key not in _NOT_LAYERS:
            name = _NAMES.get(key) or "".join(part[:1].upper() + part[1:] for part in key.split("_"))
            yield name, _layer(name, getattr(Module, key))


_layers = dict(_collect())
globals().update(_layers)
__all__ = ["Sequential", *sorted(_layers)]
