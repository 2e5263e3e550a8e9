"""Batches and stores that a program makes itself."""

from . import halftone as _generated
from .buffers import FORMATS, default_device
from .enums import Dtype, from_name
from .halftone import Batches, Context, Store


class _Load:
    """Gives a function the rows of a batch as arrays of the right shape, until it returns. The function gets memory of
    Python's, which is copied to the batch, since it may keep an array over the memory. What it has not kept serves the
    next batch.
    """

    def __init__(self, load, rows):
        self.load = load
        self.rows = rows
        self.unused = []  # of earlier calls

    def __call__(self, indices, memories):
        owned = self.unused.pop() if self.unused else []
        if [len(content) for content in owned] != [memory.nbytes for memory in memories]:
            owned = [_bytes(memory.nbytes) for memory in memories]
        views = [memoryview(content).cast(letter, (len(indices), *shape)) if indices else memoryview(content)
                 for content, (letter, shape) in zip(owned, self.rows)]
        try:
            self.load(indices, *views)
            for memory, content in zip(memories, owned):
                memory[:] = content
        finally:
            for memory in memories:
                memory.release()
            if _are_unused(views, owned):
                self.unused.append(owned)


def _bytes(size):
    """Has room for one byte more, so that _are_unused does not move it."""
    made = bytearray(size + 1)
    made.pop()
    return made


def _are_unused(views, owned):
    """Ends the views. Returns true if no object keeps the memory: an array over a view, or a view of it, keeps it."""
    try:
        for view in views:
            view.release()
        for content in owned:
            content.append(0)  # is refused while the memory is lent
            content.pop()
    except BufferError:
        return False
    return True


def _letter(dtype):
    """memoryview has no letter for numbers of 16 bits and below that are no integers: they are given as their bits."""
    if dtype in (Dtype.BF16, Dtype.F16):
        return "H"
    return FORMATS.get(dtype, "B")


def _from_function(sampler, rows, load, device=None):
    """Makes a source of batches that a function fills.

        def load(indices, images, labels):  # writable memoryviews, [len(indices), 28, 28] and [len(indices)]
            numpy.asarray(images)[:] = all_images[list(indices)]
            ...

        batches = Batches.from_function(sampler, [("u8", (28, 28)), ("i64", ())], load)

    rows: dtype and shape of a sample in each tensor. Elements in f16, bf16 and the dtypes of 8 bits are their bits.
    load: the views end when it returns, and what it has written is copied to the batch. An array over a view stays.
    """
    types = [(from_name("Dtype", dtype) if isinstance(dtype, str) else Dtype(dtype), tuple(shape))
             for dtype, shape in rows]
    flat = [number for dtype, shape in types for number in (dtype, len(shape), *shape)]
    known = [(_letter(dtype), shape) for dtype, shape in types]
    return _generated.batches_of_function(device or default_device(), sampler, flat, _Load(load, known))


def _from_object(functions, context=None):
    """Makes a store of an object's methods: set(key, value), get(key, timeout_seconds), add(key, amount),
    compare_set(key, expected, desired) and remove(key).

    Keys are strings, values bytes. Any thread calls the methods, several at once. get returns the value, and raises
    TimeoutError if there is none after so many seconds; add returns the sum of a decimal number as text; compare_set
    replaces the value, of which None is an absent one, and returns whether it did, all in one step; remove returns
    whether the key existed.
    """
    return _generated.store_of_functions(context or Context.default_context(), functions.set, functions.get,
                                         functions.add, functions.compare_set, functions.remove)


Batches.from_function = staticmethod(_from_function)
Store.from_object = staticmethod(_from_object)
