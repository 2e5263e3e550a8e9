"""Settings and results of several fields: readable, and usable as keywords.

    GradScaler(device, **halftone.grad_scaler_options_preset("megatron"))
"""

from . import halftone as _generated


def fields(structure):
    """The names of the fields, in the order of the C structure."""
    return [name for name, value in vars(structure).items() if isinstance(value, property) and name != "thisown"]


def _describe(self):
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields(type(self)))
    return f"{type(self).__name__}({values})"


for _structure in list(vars(_generated).values()):
    if isinstance(_structure, type) and fields(_structure):
        _structure.__repr__ = _describe
        _structure.keys = lambda self: fields(type(self))
        _structure.__getitem__ = lambda self, name: getattr(self, name)
