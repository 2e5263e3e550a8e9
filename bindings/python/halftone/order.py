"""Order statistics, counts and search, under PyTorch's names."""

from . import halftone as _generated
from .checks import describe, integer, needed_number, number, tensor
from .enums import Dtype
from .halftone import Tensor
from .operands import as_tensor, operand, scalar
from .reductions import ValuesAndIndices
from .registry import both, function


@both
def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest elements along a dimension and their indices, as .values and .indices."""
    made = tensor("kthvalue", "input", input), integer("kthvalue", "k", k), integer("kthvalue", "dim", dim)
    return ValuesAndIndices(*_generated.kthvalue(*made, keepdim))


@both
def median(input, dim=None, keepdim=False):
    """The median of all elements, or along a dimension the medians and their indices, as .values and .indices: the
    lower one of the two in the middle of an even number.
    """
    made = tensor("median", "input", input)
    if dim is None:
        return _generated.median(made)
    return ValuesAndIndices(*_generated.median_dim(made, integer("median", "dim", dim), keepdim))


def _cumulative(name, extreme):
    apply = getattr(_generated, name)

    def made(input, dim):
        return ValuesAndIndices(*apply(tensor(name, "input", input), integer(name, "dim", dim)))

    made.__name__ = name
    made.__doc__ = f"""The {extreme} elements up to each one along a dimension and their indices, as .values and
    .indices.
    """
    both(made)


_cumulative("cummax", "largest")
_cumulative("cummin", "smallest")


@both
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The quantile of all elements or along a dimension: the element of rank q (n - 1) in ascending order, of n
    elements. q is a number, or a vector of them, whose quantiles are along a new first dimension. interpolation:
    "linear", "lower", "higher", "nearest" or "midpoint", for a rank between two elements.
    """
    whole = tensor("quantile", "input", input)
    place = 0 if dim is None else integer("quantile", "dim", dim)
    made = _generated.reshape(whole, (-1,)) if dim is None else whole

    def of(share):
        found = _generated.quantile(made, share, place, keepdim and dim is not None, interpolation)
        return _generated.reshape(found, (1,) * whole.ndim) if keepdim and dim is None else found

    if isinstance(q, Tensor) and q.ndim:
        if q.ndim > 1:
            raise ValueError(f"quantile: q must be a number or a vector, got shape {q.shape}")
        return _generated.stack([of(share) for share in q.tolist()], 0)
    return of(needed_number("quantile", "q", q))


@both
def bincount(input, weights=None, minlength=0):
    """How often each number from 0 on occurs in a vector, or the sums of the weights. The result has at least minlength
    elements. Waits for the device.
    """
    given = None if weights is None else tensor("bincount", "weights", weights)
    return _generated.bincount(tensor("bincount", "input", input), given, integer("bincount", "minlength", minlength))


@function
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """True for the elements that are in a set, or with invert for the others; one of both may be a number.
    assume_unique has no effect.
    """
    beside = as_tensor(elements, None) if number(elements) is None else tensor("isin", "test_elements", test_elements)
    found = _generated.isin(operand("isin", "elements", elements, beside),
                            operand("isin", "test_elements", test_elements, beside))
    return _generated.logical_not(found) if invert else found


def _is_right(right, side):
    if side not in (None, "left", "right"):
        raise ValueError(f"searchsorted: side must be None, 'left' or 'right', got {describe(side)}")
    if right and side == "left":
        raise ValueError("searchsorted: right=True and side='left' contradict each other")
    return right or side == "right"


@function
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The indices at which values, or one number, would be inserted into a sequence that ascends along its last
    dimension: before equal elements, or behind them with right=True or side="right". sorter: the indices that sort the
    sequence, as argsort returns them.
    """
    name, is_right = "searchsorted", _is_right(right, side)
    ordered = tensor(name, "sorted_sequence", sorted_sequence)
    if sorter is not None:
        ordered = _generated.gather(ordered, -1, tensor(name, "sorter", sorter))
    plain = number(input)
    values = tensor(name, "input", input) if plain is None else scalar(name, plain, ordered, "input")
    found = _generated.searchsorted(ordered, values, is_right)
    return _generated.cast(found, Dtype.I32) if out_int32 else found
