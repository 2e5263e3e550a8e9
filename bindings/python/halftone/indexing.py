"""Reading and writing of a tensor by index: integers, slices, None, `...`, bool masks, lists and integer tensors.

A key is applied in two steps. Integers, slices, None and `...` make a view. The others are picks: each picks places of
one or several neighbouring dimensions by a tensor of indices, and the index tensors of all picks broadcast. As in
PyTorch an integer is applied before the picks: only a slice between them moves their dimensions to the front.
"""

from . import buffers, dtypes
from . import halftone as _generated
from .checks import describe, is_array, number
from .enums import Dtype
from .halftone import Tensor
from .inplace import check_writable
from .operands import as_tensor

_INDEX_DTYPES = (Dtype.I64, Dtype.I32, Dtype.I16, Dtype.I8)


class _Pick:
    """Picks places of `count` dimensions from `dim` on: of one by its index, or of several by a bool mask."""

    def __init__(self, dim, count, index):
        self.dim, self.count, self.index = dim, count, index
        self.is_mask = index.dtype == Dtype.BOOL

    def check_mask(self, shape):
        own = shape[self.dim : self.dim + self.count]
        if self.index.shape != own:
            raise IndexError(f"a mask of shape {self.index.shape} does not fit dimensions of sizes {own}")

    def indices(self, shape):
        """A tensor of indices from 0 on for each of the dimensions."""
        if not self.is_mask:
            return [_from_zero(_generated.cast(self.index, Dtype.I64), self.dim, shape[self.dim])]
        self.check_mask(shape)
        columns = _generated.split(_generated.nonzero(self.index), 1, (1,) * self.count)
        return [_generated.squeeze(column, 1) for column in columns]


def _from_zero(index, dim, size):
    """Indices that count from the end become those from 0; an IndexError for one that is out of range."""
    if not index.numel():
        return index
    low, high = int(_generated.amin(index).item()), int(_generated.amax(index).item())
    if low < -size or high >= size:
        wrong = low if low < -size else high
        raise IndexError(f"index {wrong} is out of range for dimension {dim} of size {size}")
    if low >= 0:
        return index
    return _generated.add(index, _generated.mul_scalar(_generated.lt_scalar(index, 0), size))


def _index_tensor(self, item):
    """A tensor of indices or a mask, from a tensor, an array or a list."""
    if not isinstance(item, Tensor) and not is_array(item) and not isinstance(item, (list, range)):
        raise IndexError("an index must be an int, a slice, None, ..., a list or a tensor of ints or bools, got "
                         + describe(item))
    if not isinstance(item, Tensor):
        made = buffers.tensor(item, device=self.device)
        item = made if made.numel() or made.dtype != Dtype.F32 else _generated.cast(made, Dtype.I64)  # an empty list
    if item.dtype != Dtype.BOOL and item.dtype not in _INDEX_DTYPES:
        raise IndexError(f"indices must be i64, i32, i16, i8 or bool, got {item.dtype}")
    return item.to(device=self.device)


def _is_basic(item):
    return item is None or item is Ellipsis or type(item) is int or isinstance(item, slice)


def _prepared(self, key):
    """The items of a key: None, Ellipsis, bools, ints, slices, and index tensors with dimensions."""
    items = key if isinstance(key, tuple) else (key,)
    return [item if _is_basic(item) else _prepared_item(self, item) for item in items]


def _prepared_item(self, item):
    plain = number(item)
    if plain is None and hasattr(item, "__index__") and not (hasattr(item, "shape") and len(item.shape)):
        is_bool = isinstance(item, Tensor) and item.dtype == Dtype.BOOL
        return bool(item) if is_bool else item.__index__()
    if isinstance(plain, (bool, int)):
        return plain
    return _index_tensor(self, item)


def _dims_of(item):
    if item is None or isinstance(item, bool):
        return 0
    return item.ndim if isinstance(item, Tensor) and item.dtype == Dtype.BOOL else 1


def _at(view, dim, position):
    size = view.shape[dim]
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of range for dimension {dim} of size {size}")
    position %= size
    return _generated.squeeze(_generated.slice(view, dim, position, position + 1, 1), dim)


def _sliced(view, dim, key, flips):
    """A view in ascending order; the dimension is added to `flips` if the step is negative."""
    try:
        start, stop, step = key.indices(view.shape[dim])
    except TypeError:
        raise TypeError(f"index: a slice must have ints or None, got {describe(key)}") from None
    if step < 0:
        count = len(range(start, stop, step))
        flips.append(dim)
        start, stop, step = start + (count - 1) * step, start + 1, -step
        if not count:
            start, stop = 0, 0
    return _generated.slice(view, dim, start, max(start, stop), step)


class _Selection:
    """The view and the picks of a key, and the dimensions of the view that are read in reverse."""

    def __init__(self, target, key):
        self.flips, self.picks = [], []
        items = _prepared(target, key)
        missing = target.ndim - sum(_dims_of(item) for item in items if item is not Ellipsis)
        if missing < 0:
            raise IndexError(f"{target.ndim - missing} indices for {target.ndim} dimensions")
        if sum(item is Ellipsis for item in items) > 1:
            raise IndexError("an index can have one ellipsis ('...')")
        self.view, dim = target, 0
        for item in items:
            dim = dim + missing if item is Ellipsis else self.apply(item, dim)

    def apply(self, item, dim):
        """Applies an item to a dimension, and returns the next one."""
        if type(item) is int:
            self.view = _at(self.view, dim, item)
            return dim
        if isinstance(item, slice):
            self.view = _sliced(self.view, dim, item, self.flips)
            return dim + 1
        if item is None or isinstance(item, bool):
            self.view = _generated.unsqueeze(self.view, dim)
            if item is not None:
                self.picks.append(_Pick(dim, 1, buffers.tensor([item], device=self.view.device)))
            return dim + 1
        self.picks.append(_Pick(dim, _dims_of(item), item))
        return dim + self.picks[-1].count


def _broadcast(indices):
    """The shape to which indices broadcast."""
    made = ()
    for index in indices:
        shape = index.shape
        count = max(len(made), len(shape))
        pairs = list(zip((1,) * (count - len(made)) + made, (1,) * (count - len(shape)) + shape))
        if any(one != other and 1 not in (one, other) for one, other in pairs):
            raise IndexError(f"indices of shapes {made} and {shape} do not broadcast")
        made = tuple(other if one == 1 else one for one, other in pairs)
    return made


class _Layout:
    """The view with the picked dimensions in front, and a tensor of indices for each of them."""

    def __init__(self, view, picks):
        dims = [dim for pick in picks for dim in range(pick.dim, pick.dim + pick.count)]
        self.order = dims + [dim for dim in range(view.ndim) if dim not in dims]
        self.view = _permuted(view, self.order)
        self.indices = [index for pick in picks for index in pick.indices(view.shape)]
        self.picked = _broadcast(self.indices)
        # The result has the picked places there, after the dimensions that are before them.
        self.first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0

    @property
    def result_shape(self):
        rest = self.view.shape[len(self.indices) :]
        return (*rest[: self.first], *self.picked, *rest[self.first :])

    def to_result(self, made):
        """Moves the picked places from the front to where the result has them."""
        return _permuted(made, _inverse(self._front(made.ndim)))

    def from_result(self, made):
        """Moves the picked places to the front."""
        return _permuted(made, self._front(made.ndim))

    def restored(self, made):
        """A tensor in the order of `view` in that of the view that it was made of."""
        return _permuted(made, _inverse(self.order))

    def _front(self, ndim):
        end = self.first + len(self.picked)
        return [*range(self.first, end), *range(self.first), *range(end, ndim)]


def _permuted(made, order):
    return made if order == sorted(order) else _generated.permute(made, order)


def _inverse(order):
    return sorted(range(len(order)), key=order.__getitem__)


def _picked(view, picks):
    """The elements that picks name; a copy."""
    if len(picks) == 1 and picks[0].count == view.ndim and picks[0].is_mask:
        picks[0].check_mask(view.shape)
        return _generated.masked_select(view, picks[0].index)
    if len(picks) == 1 and picks[0].count == 1:  # slices of one dimension, which are copied whole
        dim, (index,) = picks[0].dim, picks[0].indices(view.shape)
        found = _generated.index_select(view, dim, _generated.reshape(index, (index.numel(),)))
        return _generated.reshape(found, (*view.shape[:dim], *index.shape, *view.shape[dim + 1 :]))
    layout = _Layout(view, picks)
    return layout.to_result(_generated.index(layout.view, layout.indices))


def read(self, key):
    """Integers, slices, `...`, None, masks, lists and tensors of indices. Integers and slices of positive steps make a
    view; a negative step, a mask and indices make a copy. Backward reaches this tensor.
    """
    if type(key) is int and self.shape:  # first, since it is the usual case
        return _at(self, 0, key)
    selection = _Selection(self, key)
    view = selection.view
    if selection.flips:
        view = _generated.flip(view, selection.flips)
    if selection.picks:
        return _picked(view, selection.picks)
    return _generated.reshape(self, self.shape) if view is self else view


def _value(target, value):
    """A tensor with the dtype and on the device of the target."""
    made = as_tensor(value, target)
    if made is not None:
        return made.to(dtype=target.dtype, device=target.device)
    plain = number(value)
    if plain is not None:
        dtypes.checked_number("x[...] = value", "value", plain, target.dtype)
        if isinstance(plain, int) and target.dtype not in dtypes.FLOATS:
            return buffers.tensor(plain, target.dtype, target.device)
        return Tensor.full(target.device, target.dtype, (), plain)
    if isinstance(value, (list, tuple)):
        return buffers.tensor(value, target.dtype, target.device)
    raise TypeError(f"x[...] = value: value must be a Tensor, a number, an array or a list, got {describe(value)}")


def _fitted(value, shape):
    """The value in a shape; leading dimensions of size 1 that the shape lacks are dropped."""
    extra = value.ndim - len(shape)
    if extra > 0 and set(value.shape[:extra]) == {1}:
        value = _generated.reshape(value, value.shape[extra:])
    try:
        return _generated.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"x[...] = value: value of shape {value.shape} does not broadcast to {shape}") from None


def write(self, key, value):
    """Writes a tensor, a number, an array or a list, which is broadcast and converted, into the places of a key. If an
    index comes twice its last value is written. The write is not recorded: a tensor that requires a gradient is written
    inside of no_grad() alone.
    """
    check_writable("x[...] = value", self, value)
    selection, source = _Selection(self, key), _value(self, value)
    view, picks = selection.view, selection.picks
    if not picks:
        source = _fitted(source, view.shape)
        view.copy_from(_generated.flip(source, selection.flips) if selection.flips else source)
        return
    target = _generated.flip(view, selection.flips) if selection.flips else view
    if len(picks) == 1 and picks[0].is_mask and source.numel() == 1:
        made = _masked(target, picks[0], _generated.reshape(source, ()))
    else:
        layout = _Layout(target, picks)
        values = layout.from_result(_fitted(source, layout.result_shape))
        made = layout.restored(_generated.index_put(layout.view, layout.indices, values))
    view.copy_from(_generated.flip(made, selection.flips) if selection.flips else made)


def _masked(target, pick, value):
    pick.check_mask(target.shape)
    behind = (1,) * (target.ndim - pick.dim - pick.count)
    return _generated.where(_generated.reshape(pick.index, (*pick.index.shape, *behind)), value, target)
