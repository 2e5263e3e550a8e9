"""Reductions and order, under PyTorch's names: dim is an int, several ints, or None for all dimensions."""

from collections import namedtuple

from . import dtypes
from . import halftone as _generated
from .checks import dims, integer, needed_number, number, tensor
from .arithmetic import maximum, minimum
from .halftone import Tensor
from .registry import alias, both


class ValuesAndIndices(namedtuple("ValuesAndIndices", ("values", "indices"))):
    """Elements along a dimension, and their indices."""

    __slots__ = ()


def _input(name, input, dtype=None):
    """The input, converted first if a dtype is named."""
    made = tensor(name, "input", input)
    return made if dtype is None else _generated.cast(made, dtypes.dtype_of(name, dtype))


@both
def _sum(input, dim=None, keepdim=False, *, dtype=None):
    """Sums over dimensions. Integers and bools give i64."""
    return _generated.sum(_input("sum", input, dtype), dims("sum", dim), keepdim)


@both
def mean(input, dim=None, keepdim=False, *, dtype=None):
    """Averages floats over dimensions."""
    return _generated.mean(_input("mean", input, dtype), dims("mean", dim), keepdim)


@both
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """Multiplies the elements over dimensions. Integers and bools give i64."""
    return _generated.prod(_input("prod", input, dtype), dims("prod", dim), keepdim)


@both
def _any(input, dim=None, keepdim=False):
    """True if any element is not 0, over dimensions."""
    return _generated.any(_input("any", input), dims("any", dim), keepdim)


@both
def _all(input, dim=None, keepdim=False):
    """True if all elements are not 0, over dimensions."""
    return _generated.all(_input("all", input), dims("all", dim), keepdim)


@both
def amax(input, dim=None, keepdim=False):
    """The largest element over dimensions."""
    return _generated.amax(_input("amax", input), dims("amax", dim), keepdim)


@both
def amin(input, dim=None, keepdim=False):
    """The smallest element over dimensions."""
    return _generated.amin(_input("amin", input), dims("amin", dim), keepdim)


@both
def logsumexp(input, dim=None, keepdim=False):
    """log(sum(exp(input))) over dimensions, without overflow."""
    return _generated.log_sum_exp(_input("logsumexp", input), dims("logsumexp", dim), keepdim)


alias("log_sum_exp", logsumexp)


def _moment(name, input, dim, correction, keepdim, unbiased):
    if isinstance(dim, bool):  # PyTorch's x.var(unbiased)
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    made = needed_number(name, "correction", correction)
    return getattr(_generated, name)(_input(name, input), dims(name, dim), float(made), keepdim)


@both
def var(input, dim=None, correction=1, keepdim=False, *, unbiased=None):
    """The variance over dimensions: the number of elements less `correction` divides. unbiased=False is 0."""
    return _moment("var", input, dim, correction, keepdim, unbiased)


@both
def std(input, dim=None, correction=1, keepdim=False, *, unbiased=None):
    """The standard deviation over dimensions: the number of elements less `correction` divides. unbiased=False is 0."""
    return _moment("std", input, dim, correction, keepdim, unbiased)


@both
def var_mean(input, dim=None, correction=1, keepdim=False, *, unbiased=None):
    """The variance, as var returns it, and the mean over dimensions."""
    return _moment("var_mean", input, dim, correction, keepdim, unbiased)


@both
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm over dimensions: "fro" and 2 are the square root of the sum of squares, infinities the largest and the
    smallest magnitude, 0 the number of elements that are not 0.
    """
    power = 2 if p in ("fro", None) else number(p)
    if power is None:
        raise ValueError(f"norm: p must be a number or 'fro', got {p!r}")
    return _generated.vector_norm(_input("norm", input, dtype), power, dims("norm", dim), keepdim)


def _extreme(name, input, dim, keepdim, along, over, of_two):
    made = _input(name, input)
    if dim is None:
        return over(made)
    if isinstance(dim, Tensor):
        return of_two(made, dim)
    return ValuesAndIndices(*along(made, integer(name, "dim", dim), keepdim))


@both
def _max(input, dim=None, keepdim=False):
    """The largest element; along a dimension the largest elements and their indices, as .values and .indices; with
    another tensor in place of dim the larger of each two elements.
    """
    return _extreme("max", input, dim, keepdim, _generated.max_dim, _generated.amax, maximum)


@both
def _min(input, dim=None, keepdim=False):
    """The smallest element; along a dimension the smallest elements and their indices, as .values and .indices; with
    another tensor in place of dim the smaller of each two elements.
    """
    return _extreme("min", input, dim, keepdim, _generated.min_dim, _generated.amin, minimum)


def _place_of(name, apply, input, dim, keepdim):
    made = _input(name, input)
    if dim is not None:
        return apply(made, integer(name, "dim", dim), keepdim)
    place = apply(_generated.reshape(made, (-1,)), 0, False)
    return _generated.reshape(place, (1,) * made.ndim) if keepdim else place


@both
def argmax(input, dim=None, keepdim=False):
    """The index of the largest element along a dimension, or among all elements."""
    return _place_of("argmax", _generated.argmax, input, dim, keepdim)


@both
def argmin(input, dim=None, keepdim=False):
    """The index of the smallest element along a dimension, or among all elements."""
    return _place_of("argmin", _generated.argmin, input, dim, keepdim)


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
def cumsum(input, dim, *, dtype=None):
    """Sums along a dimension, up to and with each element."""
    return _generated.cumsum(_input("cumsum", input, dtype), integer("cumsum", "dim", dim))


@both
def cumprod(input, dim, *, dtype=None):
    """Multiplies along a dimension, up to and with each element."""
    return _generated.cumprod(_input("cumprod", input, dtype), integer("cumprod", "dim", dim))


def _normalised(name):
    apply = getattr(_generated, name)

    def made(input, dim, *, dtype=None):
        return apply(_input(name, input, dtype), integer(name, "dim", dim))

    made.__name__ = name
    return made


softmax = _normalised("softmax")
softmax.__doc__ = "The exponentials along a dimension, divided by their sum."
log_softmax = _normalised("log_softmax")
log_softmax.__doc__ = "The logarithm of softmax along a dimension, without forming it."
both(softmax)
both(log_softmax)


@both
def diagonal(input):
    """The main diagonal of a matrix, or of the last two dimensions' matrices."""
    made = _input("diagonal", input)
    if made.ndim < 2:
        raise ValueError(f"diagonal: input must have at least 2 dimensions, got shape {made.shape}")
    count = min(made.shape[-2:])
    return _generated.einsum("...ii->...i", made[..., :count, :count])


@both
def trace(input):
    """The sum of the main diagonal of a matrix."""
    return _sum(diagonal(input))
