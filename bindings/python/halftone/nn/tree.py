"""Tensors inside tuples, lists and dictionaries: taken out for a call of the library, and put back after it."""

from ..halftone import Tensor


class _Slot:
    """The place of a tensor, by its number."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


def pack(value, tensors):
    """Appends the tensors in `value` to a list; returns `value` with a place for each. What holds none stays itself."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Slot(len(tensors) - 1)
    return _mapped(value, lambda item: pack(item, tensors))


def unpack(value, tensors):
    """Puts tensors into their places."""
    if isinstance(value, _Slot):
        return tensors[value.index]
    return _mapped(value, lambda item: unpack(item, tensors))


def _mapped(value, change):
    if isinstance(value, dict):
        items = [change(item) for item in value.values()]
        if all(new is old for new, old in zip(items, value.values())):
            return value
        made = {} if type(value) is dict else type(value)()
        made.update(zip(value.keys(), items))
        return made
    if not isinstance(value, (tuple, list)):
        return value
    items = [change(item) for item in value]
    if all(new is old for new, old in zip(items, value)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
