"""Reductions and order, under PyTorch's names: dim is an int, several ints, or None for all dimensions."""

from collections import namedtuple

from . import dtypes
from . import halftone as _generated
from .checks import describe, dims, integer, needed_number, number, tensor
from .arithmetic import maximum, minimum
from .halftone import Tensor
from .registry import alias, both
from .shapes import movedim


class ValuesAndIndices(namedtuple("ValuesAndIndices", ("values", "indices"))):
    """Elements along a dimension, and their indices."""

    __slots__ = ()


def _input(name, input, dtype=None):
    """The input, converted first if a dtype is named."""
    made = tensor(name, "input", input)
    return made if dtype is None else _generated.cast(made, dtypes.dtype_of(name, dtype))


def _over_dims(name, documentation, of_c=None):
    """A reduction over dimensions."""
    apply = getattr(_generated, of_c or name)

    def made(input, dim=None, keepdim=False):
        return apply(_input(name, input), dims(name, dim), keepdim)

    made.__name__, made.__doc__ = name, documentation
    return both(made)


def _over_dims_with_dtype(name, documentation):
    """A reduction over dimensions whose input may be converted first; the result has that dtype, too."""
    apply = getattr(_generated, name)

    def made(input, dim=None, keepdim=False, *, dtype=None):
        found = apply(_input(name, input, dtype), dims(name, dim), keepdim)
        return found if dtype is None else _generated.cast(found, dtypes.dtype_of(name, dtype))

    made.__name__, made.__doc__ = name, documentation
    return both(made)


def _along_dim(name, documentation):
    """A function along one dimension whose input may be converted first; the result has that dtype, too."""
    apply = getattr(_generated, name)

    def made(input, dim, *, dtype=None):
        found = apply(_input(name, input, dtype), integer(name, "dim", dim))
        return found if dtype is None else _generated.cast(found, dtypes.dtype_of(name, dtype))

    made.__name__, made.__doc__ = name, documentation
    return both(made)


_sum = _over_dims_with_dtype("sum", "Sums over dimensions. Integers and bools give i64.")
_over_dims_with_dtype("mean", "Averages floats over dimensions.")
_over_dims_with_dtype("prod", "Multiplies the elements over dimensions. Integers and bools give i64.")
_over_dims("any", "True if any element is not 0, over dimensions.")
_over_dims("all", "True if all elements are not 0, over dimensions.")
_over_dims("amax", "The largest element over dimensions.")
_over_dims("amin", "The smallest element over dimensions.")
logsumexp = _over_dims("logsumexp", "log(sum(exp(input))) over dimensions, without overflow.", "log_sum_exp")
_along_dim("cumsum", "Sums along a dimension, up to and with each element.")
_along_dim("cumprod", "Multiplies along a dimension, up to and with each element.")
softmax = _along_dim("softmax", "The exponentials along a dimension, divided by their sum.")
log_softmax = _along_dim("log_softmax", "The logarithm of softmax along a dimension, without forming it.")
alias("log_sum_exp", logsumexp)


def _moment(name, documentation):
    apply = getattr(_generated, name)

    def made(input, dim=None, correction=1, keepdim=False, *, unbiased=None):
        if isinstance(dim, bool):  # PyTorch's x.var(unbiased)
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = 1 if unbiased else 0
        less = 1 if correction is None else needed_number(name, "correction", correction)
        return apply(_input(name, input), dims(name, dim), float(less), keepdim)

    made.__name__, made.__doc__ = name, documentation
    return both(made)


_moment("var", "The variance over dimensions: the number of elements less `correction` divides. unbiased=False is 0.")
_moment("std", "The standard deviation over dimensions: the number of elements less `correction` divides. "
               "unbiased=False is 0.")
_moment("var_mean", "The variance, as var returns it, and the mean over dimensions.")


@both
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm over dimensions: "fro" and 2 are the square root of the sum of squares, infinities the largest and the
    smallest magnitude, 0 the number of elements that are not 0.
    """
    power = 2 if p in ("fro", None) else number(p)
    if power is None:
        raise ValueError(f"norm: p must be a number or 'fro', got {describe(p)}")
    return _generated.vector_norm(_input("norm", input, dtype), power, dims("norm", dim), keepdim)


def _extreme(name, of_two, first, better):
    along, over = getattr(_generated, f"{name}_dim"), getattr(_generated, f"a{name}")

    def made(input, dim=None, keepdim=False):
        whole = _input(name, input)
        if dim is None:
            return over(whole)
        if isinstance(dim, Tensor):
            return of_two(whole, dim)
        return ValuesAndIndices(*along(whole, integer(name, "dim", dim), keepdim))

    made.__name__ = name
    made.__doc__ = f"""The {first} element; along a dimension the {first} elements and their indices, as .values and
    .indices; with another tensor in place of dim the {better} of each two elements.
    """
    both(made)


_extreme("max", maximum, "largest", "larger")
_extreme("min", minimum, "smallest", "smaller")


def _place_of(name, size):
    apply = getattr(_generated, name)

    def made(input, dim=None, keepdim=False):
        whole = _input(name, input)
        if dim is not None:
            return apply(whole, integer(name, "dim", dim), keepdim)
        place = apply(_generated.reshape(whole, (-1,)), 0, False)
        return _generated.reshape(place, (1,) * whole.ndim) if keepdim else place

    made.__name__ = name
    made.__doc__ = f"The index of the {size} element along a dimension, or among all elements."
    both(made)


_place_of("argmax", "largest")
_place_of("argmin", "smallest")


@both
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The k largest or smallest elements along a dimension and their indices, as .values and .indices."""
    made = _input("topk", input), integer("topk", "k", k), integer("topk", "dim", dim)
    return ValuesAndIndices(*_generated.topk(*made, largest, sorted))


@both
def sort(input, dim=-1, descending=False, stable=True):
    """The elements in ascending order along a dimension and their indices, as .values and .indices. Equal elements keep
    their order.
    """
    return ValuesAndIndices(*_generated.sort(_input("sort", input), integer("sort", "dim", dim), descending))


@both
def argsort(input, dim=-1, descending=False, stable=True):
    """The indices that sort the elements along a dimension. Equal elements keep their order."""
    return _generated.argsort(_input("argsort", input), integer("argsort", "dim", dim), descending)


@both
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of the matrices of two dimensions, as the last dimension: offset 1 is the one above the main
    diagonal, -1 the one below. A view if the strides allow it, else a copy.
    """
    made, shift = _input("diagonal", input), integer("diagonal", "offset", offset)
    if made.ndim < 2:
        raise ValueError(f"diagonal: input must have at least 2 dimensions, got shape {made.shape}")
    matrices = movedim(made, (dim1, dim2), (-2, -1))
    first_row, first_column = max(0, -shift), max(0, shift)
    rows, columns = matrices.shape[-2:]
    count = max(0, min(rows - first_row, columns - first_column))
    lines = _generated.slice(matrices, -2, first_row, first_row + count)
    # Without the first elements of the first row, each row is one element more behind the last diagonal element.
    whole = _generated.reshape(lines, (*lines.shape[:-2], count * columns))
    return _generated.slice(whole, -1, first_column, count * columns, columns + 1)


@both
def trace(input):
    """The sum of the main diagonal of a matrix."""
    made = _input("trace", input)
    if made.ndim != 2:
        raise ValueError(f"trace: input must have 2 dimensions, got shape {made.shape}")
    return _sum(diagonal(made))
