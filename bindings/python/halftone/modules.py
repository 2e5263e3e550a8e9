"""Modules, optimizers and data in Python's idiom: calls, iterators and properties."""

from . import halftone as _generated
from .halftone import Batches, Context, Device, Group, Module, Optimizer, Parameter, Parameters, StateDict


def _own(owner, name):
    """The method itself; by owner.name it would be a function that binds to no object."""
    return vars(owner)[name]


def _module_parameters(self):
    """The parameters, in order."""
    for index in range(self.parameter_count()):
        yield self.parameter(index)


def _named_parameters(self):
    """Pairs of a name and a parameter, in order."""
    for index in range(self.parameter_count()):
        yield self.parameter_name(index), self.parameter(index)


def _named_children(self):
    """Pairs of a name and a module, in order."""
    for index in range(self.child_count()):
        yield self.child_name(index), self.child(index)


def _train(self, mode=True):
    """Switches to training, or to evaluation with mode=False; returns the module."""
    self.set_training(mode)
    return self


Module.parameters = _module_parameters
Module.named_parameters = _named_parameters
Module.named_children = _named_children
Module.train = _train
Module.eval = lambda self: _train(self, False)
Module.training = property(Module.is_training, Module.set_training, doc=Module.is_training.__doc__)
Module.__repr__ = lambda self: self.summary()

Parameters.__len__ = _own(Parameters, "count")
Parameters.__getitem__ = _own(Parameters, "at")
Parameters.__iter__ = lambda self: (self.at(index) for index in range(self.count()))

Parameter.frozen = property(Parameter.is_frozen, Parameter.set_frozen, doc=Parameter.is_frozen.__doc__)

# Attributes of an object, as opposed to its actions.
_PROPERTIES = {
    Context: ["num_threads"],
    Device: ["kind", "name"],
    Group: ["kind", "rank", "size"],
    Module: ["kind"],
    Optimizer: ["lr", "step_count"],
    Parameter: ["dtype", "grad", "name", "shape", "tensor"],
}
for _class, _names in _PROPERTIES.items():
    for _name in _names:
        _getter = getattr(_class, _name)
        setattr(_class, _name, property(_getter, doc=_getter.__doc__))

StateDict.__len__ = _own(StateDict, "count")
StateDict.__getitem__ = _own(StateDict, "find")
StateDict.keys = lambda self: [self.name(index) for index in range(self.count())]
StateDict.__iter__ = lambda self: iter(self.keys())
StateDict.items = lambda self: [(self.name(index), self.tensor(index)) for index in range(self.count())]


class DataLoader:
    """The batches of tensors of equal length, in a new random order each epoch.

        for images, labels in DataLoader(images, labels, batch_size=64):

    One pass is one epoch; the next pass begins the next epoch. ``drop_last`` leaves out a last batch that is not full:
    for training, above all of several ranks, which must take equally many batches.
    """

    def __init__(self, *tensors, batch_size, shuffle=True, seed=0, drop_last=False, rank=0, world_size=1):
        self.sampler = _generated.Sampler(
            len(tensors[0]), batch_size, shuffle=shuffle, seed=seed, drop_last=drop_last, rank=rank,
            world_size=world_size)  # fmt: skip
        self.batches = Batches(self.sampler, tensors)
        self.width = len(tensors)

    def __len__(self):
        return self.sampler.batches_per_epoch()

    def __iter__(self):
        for _ in range(len(self)):
            yield self.next()

    def next(self):
        """The next batch, a tuple of tensors; after the last one of an epoch the next epoch begins."""
        self.batches.advance()
        return tuple(self.batches.tensor(index) for index in range(self.width))
