"""Shapes of tensors, under PyTorch's names. Sizes are arguments or one sequence."""

from . import halftone as _generated
from .checks import integer, integers, sizes, tensor, wrong
from .enums import Dtype
from .halftone import Tensor
from .registry import alias, both, function, method


def _place(name, input, dim, argument="dim"):
    """A dimension from 0 on; an IndexError if the tensor has none of that number."""
    count, place = max(input.ndim, 1), integer(name, argument, dim)
    if not -count <= place < count:
        raise IndexError(f"{name}: {argument} must be in [{-count}, {count - 1}], got {place}")
    return place % count


def _same(input):
    """Another tensor over the same memory, with the same recorded operations."""
    return _generated.reshape(input, input.shape)


@both
def reshape(input, *given, shape=None):
    """The elements in another shape, of which one size may be -1: a view if the strides allow it, else a copy."""
    return _generated.reshape(tensor("reshape", "input", input), sizes("reshape", "shape", given, shape))


def _is_view(input, shape):
    """True if the strides allow a view: the dimensions of each group that becomes others are one without gaps."""
    groups = []  # of dimensions that are one without gaps: the number of elements
    for size, stride in zip(input.shape, input.strides):
        if size == 1:
            continue
        if groups and groups[-1][1] == size * stride:
            groups[-1] = (groups[-1][0] * size, stride)
        else:
            groups.append((size, stride))
    left = [size for size in shape if size != 1]
    for count, _ in groups:
        while count > 1:
            if not left or count % left[0]:
                return False
            count //= left.pop(0)
    return True


@method
def view(self, *given, size=None):
    """This memory in another shape, of which one size may be -1; a ValueError if the strides need a copy."""
    if len(given) == 1 and (isinstance(given[0], Dtype) or isinstance(given[0], str)):
        raise TypeError(f"view: size must be ints; the bytes cannot be read as {given[0]}, use to() to convert")
    made = _generated.reshape(self, sizes("view", "size", given, size))
    if not self.is_contiguous() and not _is_view(self, made.shape):
        raise ValueError(f"view: shape {made.shape} needs a copy of a tensor of shape {self.shape} and strides "
                         f"{self.strides}; use reshape")
    return made


@method
def view_as(self, other):
    """This memory in the shape of another tensor."""
    return self.view(tensor("view_as", "other", other).shape)


@method
def reshape_as(self, other):
    """The elements in the shape of another tensor."""
    return _generated.reshape(self, tensor("reshape_as", "other", other).shape)


@both
def permute(input, *given, dims=None):
    """The dimensions in another order; a view."""
    return _generated.permute(tensor("permute", "input", input), sizes("permute", "dims", given, dims))


@both
def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from start_dim to end_dim as one."""
    made = tensor("flatten", "input", input)
    first, last = _place("flatten", made, start_dim, "start_dim"), _place("flatten", made, end_dim, "end_dim")
    if first > last:
        raise ValueError(f"flatten: start_dim must not be behind end_dim, got {start_dim} and {end_dim}")
    shape, count = made.shape, 1
    for size in shape[first : last + 1]:
        count *= size
    return _generated.reshape(made, (*shape[:first], count, *shape[last + 1 :]))


@both
def ravel(input):
    """All elements in one dimension."""
    return flatten(input)


@both
def unflatten(input, dim, sizes):
    """One dimension as several of these sizes, of which one may be -1."""
    made, parts = tensor("unflatten", "input", input), integers("unflatten", "sizes", sizes)
    place, shape = _place("unflatten", made, dim), made.shape
    known = 1
    for size in parts:
        known *= size if size != -1 else 1
    if -1 in parts and known and shape[place] % known == 0:
        parts = tuple(shape[place] // known if size == -1 else size for size in parts)
    return _generated.reshape(made, (*shape[:place], *parts, *shape[place + 1 :]))


@method
def expand(self, *given, size=None):
    """Repeats sizes of 1, and the whole along new dimensions in front, without a copy; -1 keeps a size. The result is
    read-only.
    """
    return _generated.broadcast_to(self, sizes("expand", "size", given, size))


@method
def expand_as(self, other):
    """Repeats sizes of 1 up to the shape of another tensor, without a copy. The result is read-only."""
    return _generated.broadcast_to(self, tensor("expand_as", "other", other).shape)


@method
def repeat(self, *given, repeats=None):
    """Repeats the tensor along its dimensions, and along new ones in front; a copy."""
    counts = sizes("repeat", "repeats", given, repeats)
    if len(counts) < self.ndim:
        raise ValueError(f"repeat: repeats must have one number for each of {self.ndim} dimensions, got {counts}")
    return _generated.tile(self, counts)


@both
def tile(input, *given, dims=None):
    """Repeats the tensor along its last dimensions, and along new ones in front; a copy."""
    return _generated.tile(tensor("tile", "input", input), sizes("tile", "dims", given, dims))


@both
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Repeats each element so many times, next to each other, along a dimension or, without one, of all elements.
    repeats is a number, or a tensor with one for each index of the dimension. output_size is not needed.
    """
    made = flatten(input) if dim is None else tensor("repeat_interleave", "input", input)
    place = _place("repeat_interleave", made, dim or 0)
    if not isinstance(repeats, Tensor):
        return _generated.repeat_interleave(made, integer("repeat_interleave", "repeats", repeats), place)
    if repeats.numel() == 1:  # counts for every index
        repeats = _generated.broadcast_to(_generated.reshape(repeats, (1,)), (made.shape[place],))
    return _generated.repeat_interleave_counts(made, repeats, place)


@both
def split(input, split_size_or_sections, dim=0):
    """Views of parts along a dimension: of one size, except that the last may be smaller, or of several sizes."""
    made = tensor("split", "input", input)
    place = _place("split", made, dim)
    if not hasattr(split_size_or_sections, "__iter__") or isinstance(split_size_or_sections, Tensor):
        size, length = integer("split", "split_size_or_sections", split_size_or_sections), made.shape[place]
        if size < 1:
            raise ValueError(f"split: split_size_or_sections must be at least 1, got {size}")
        parts = [min(size, length - begin) for begin in range(0, length, size)] or [0]
    else:
        parts = integers("split", "split_size_or_sections", split_size_or_sections)
    return _generated.split(made, place, parts)


@both
def chunk(input, chunks, dim=0):
    """Views of at most so many parts of one size along a dimension, of which the last may be smaller."""
    made, count = tensor("chunk", "input", input), integer("chunk", "chunks", chunks)
    if count < 1:
        raise ValueError(f"chunk: chunks must be at least 1, got {count}")
    return split(made, max(1, -(-made.shape[_place("chunk", made, dim)] // count)), dim)


@both
def unbind(input, dim=0):
    """A tuple of the views without a dimension, one for each of its indices."""
    made = tensor("unbind", "input", input)
    place = _place("unbind", made, dim)
    parts = _generated.split(made, place, (1,) * made.shape[place]) if made.shape[place] else ()
    return tuple(_generated.squeeze(part, place) for part in parts)


@both
def narrow(input, dim, start, length):
    """A view of so many indices of a dimension, from start on."""
    made, count = tensor("narrow", "input", input), integer("narrow", "length", length)
    place, first = _place("narrow", made, dim), integer("narrow", "start", start)
    size = made.shape[place]
    first = first + size if first < 0 else first
    if count < 0 or first < 0 or first + count > size:
        raise IndexError(f"narrow: start and length must be within {size} indices, got {start} and {count}")
    return _generated.slice(made, place, first, first + count, 1)


@both
def select(input, dim, index):
    """A view of one index of a dimension, without the dimension."""
    made = tensor("select", "input", input)
    return made[(slice(None),) * _place("select", made, dim) + (integer("select", "index", index),)]


@both
def squeeze(input, dim=None):
    """A view without the dimensions of size 1, or without those of them that are named."""
    made = tensor("squeeze", "input", input)
    named = () if dim is None else integers("squeeze", "dim", dim)
    return _same(made) if dim is not None and not named else _generated.squeeze(made, named)


@both
def transpose(input, dim0, dim1):
    """Two dimensions exchanged; a view."""
    return _generated.transpose(tensor("transpose", "input", input), integer("transpose", "dim0", dim0),
                                integer("transpose", "dim1", dim1))


alias("swapaxes", transpose)
alias("swapdims", transpose)


@both
def t(input):
    """The transpose of a matrix; a vector as it is."""
    made = tensor("t", "input", input)
    if made.ndim > 2:
        raise ValueError(f"t: input must have at most 2 dimensions, got {made.ndim}; use mT or transpose")
    return _generated.transpose(made, 0, 1) if made.ndim == 2 else _same(made)


@both
def movedim(input, source, destination):
    """Dimensions moved to other places, the others in their order; a view."""
    made = tensor("movedim", "input", input)
    origins = [_place("movedim", made, dim, "source") for dim in integers("movedim", "source", source)]
    goals = [_place("movedim", made, dim, "destination")
             for dim in integers("movedim", "destination", destination)]
    if len(origins) != len(goals) or len(set(origins)) != len(origins) or len(set(goals)) != len(goals):
        raise ValueError(f"movedim: source and destination must be equally many, got {source} and {destination}")
    order = [dim for dim in range(made.ndim) if dim not in origins]
    for goal, origin in sorted(zip(goals, origins)):
        order.insert(goal, origin)
    return _generated.permute(made, order)


@both
def flip(input, *given, dims=None):
    """The order of elements along dimensions reversed; a copy."""
    made = tensor("flip", "input", input)
    named = sizes("flip", "dims", given, dims)
    return _generated.flip(made, named) if named else made.clone()


@both
def roll(input, shifts, dims=None):
    """Moves elements by shifts along dimensions, or along all elements without dimensions; those that leave at one end
    come in at the other.
    """
    made, steps = tensor("roll", "input", input), integers("roll", "shifts", shifts)
    if dims is None:
        if len(steps) != 1:
            raise ValueError(f"roll: shifts must be one number where dims is None, got {steps}")
        return _generated.reshape(_generated.roll(flatten(made), (0,), steps), made.shape)
    return _generated.roll(made, integers("roll", "dims", dims), steps)


def _tensors(name, given):
    if isinstance(given, (Tensor, str)) or not hasattr(given, "__iter__"):
        raise wrong(name, "tensors", "a sequence of Tensors", given)
    return [tensor(name, f"tensors[{index}]", item) for index, item in enumerate(given)]


@function
def cat(tensors, dim=0):
    """The tensors one after the other along a dimension."""
    return _generated.cat(_tensors("cat", tensors), integer("cat", "dim", dim))


@function
def concat(tensors, dim=0):
    """The tensors one after the other along a dimension, as cat."""
    return cat(tensors, dim)


@function
def stack(tensors, dim=0):
    """The tensors beside each other along a new dimension."""
    return _generated.stack(_tensors("stack", tensors), integer("stack", "dim", dim))


@method
def size(self, dim=None):
    """The shape, or the size of one dimension."""
    return self.shape if dim is None else self.shape[_place("size", self, dim)]


@method
def stride(self, dim=None):
    """The distances of neighbours in elements, of all dimensions or of one."""
    return self.strides if dim is None else self.strides[_place("stride", self, dim)]


@method
def dim(self):
    """The number of dimensions."""
    return self.ndim


@method
def nelement(self):
    """The number of elements."""
    return self.numel()


@both
def masked_select(input, mask):
    """The elements at which a mask is true, in one dimension; a copy. The shapes of both broadcast. Waits for the
    device.
    """
    return _generated.masked_select(tensor("masked_select", "input", input), tensor("masked_select", "mask", mask))


@function
def meshgrid(*tensors, indexing="ij"):
    """Grids of coordinates from vectors, which are arguments or one sequence: each grid has one dimension for each
    vector. indexing="xy" exchanges the first two dimensions.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(_generated.meshgrid(_tensors("meshgrid", given), indexing == "xy"))
