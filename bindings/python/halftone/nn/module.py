"""The object of a module, beside the library's own: begins one with a forward of Python, and ends it.

The library owns the parts. `_modules`, `_parameters` and `_buffers` hold their Python objects by name; for a module
that the library made they are filled when they are first needed.
"""

import weakref

from .. import halftone as _generated
from ..halftone import Module
from . import calls
from .methods import method
from .parts import PARTS, note_holder


class _Forward:
    """The library calls this for a module; it finds the module's object. Several objects may stand for one module, one
    after the other: they share their attributes.

    A module keeps this object, which keeps the attributes; an object keeps the module. So the attributes must not refer
    to the object itself, and `this` among them owns no reference. The reference is in the slot `_owner`.
    """

    def __init__(self, made):
        self.kind = type(made)
        self.attributes = made.__dict__
        self.made = weakref.ref(made)

    def __call__(self, module, inputs):
        return calls.forward(self.made() or self.make(module), self.attributes, inputs)

    def make(self, module):
        """The last object is gone, but another module still has this one as a part."""
        made = self.kind.__new__(self.kind)
        made.__dict__ = self.attributes
        _own(made, module)
        self.made = weakref.ref(made)
        for part in self.attributes["_modules"].values():
            if part is not None:
                note_holder(part, made)
        return made


def _own(made, module):
    made._owner = module
    made.__dict__["this"] = _generated.borrow_module(module).this


@method
def __init__(self):
    """Begins a module with its own forward. Parameters and modules become parts of it when they are set as attributes,
    under the attributes' names.

        class Residual(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = nn.Linear(width, width)

            def forward(self, x):
                return x + self.inner(x)

    forward takes and returns anything: tensors, also in tuples, lists and dictionaries, and other objects.
    """
    attributes = self.__dict__
    attributes["_is_custom"] = True
    attributes.update({part: {} for part in PARTS})
    attributes["_transient"] = {}
    most = calls.MOST_TENSORS
    _own(self, Module.custom(_Forward(self), input_count=most, required_inputs=1, output_count=most,
                             required_outputs=1))


@method
def close(self):
    """Releases the object now; closing it again does nothing."""
    if "_is_custom" in self.__dict__:
        self._owner.close()
    elif self.thisown:
        self.__swig_destroy__(self)


class _Default:
    """A property that an attribute of an object hides, since it is the name of a part of many models."""

    def __init__(self, getter):
        self.getter, self.__doc__ = getter, getter.__doc__

    def __get__(self, made, kind=None):
        return self if made is None else self.getter(made)


Module.kind = _Default(vars(Module)["kind"])
