"""The Python class of a module of a kind, of which its constructor makes modules."""

from .. import halftone as _generated
from ..halftone import Module

_c = _generated._halftone
KINDS = {}


def adopt(module):
    """Gives a module of the library the class of its kind."""
    kind = KINDS.get(_c.Module_kind(module))
    if kind is not None and type(module) is Module:
        module.__class__ = kind
    _generated.keep_handle(module)
    return module
