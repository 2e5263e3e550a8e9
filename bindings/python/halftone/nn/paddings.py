"""Padding of [..., width], [..., height, width] and [..., depth, height, width] as modules."""

from ..halftone import Module
from . import functional
from .constructors import add_constructor

_MODES = {"Zero": ("constant", "Zeros"), "Reflection": ("reflect", "A reflection of the input"),
          "Replication": ("replicate", "The elements at the ends"), "Circular": ("circular", "The other end")}


def _signature():
    from inspect import Parameter, Signature

    return Signature([Parameter("padding", Parameter.POSITIONAL_OR_KEYWORD)])


def _padding(name, mode, text, dims):
    def begin(self, values):
        given = values["padding"]
        Module.__init__(self)
        self.padding = tuple(given) if isinstance(given, (tuple, list)) else (given,) * (2 * dims)
        if len(self.padding) != 2 * dims:
            raise ValueError(f"{name}: padding must be a number or {2 * dims} of them, got {given!r}")

    kind = type(name, (Module,), {
        "__doc__": f"{text} around the last {dims} dimensions: pairs of before and after, from the last one on.",
        "__module__": __name__, "forward": lambda self, input: functional.pad(input, self.padding, mode),
        "extra_repr": lambda self: f"{self.padding}"})  # fmt: skip
    add_constructor(kind, _signature, begin)
    return kind


globals().update({f"{start}Pad{dims}d": _padding(f"{start}Pad{dims}d", mode, text, dims)
                  for start, (mode, text) in _MODES.items() for dims in (1, 2, 3)})
__all__ = [f"{start}Pad{dims}d" for start in _MODES for dims in (1, 2, 3)]
