"""Comparisons of whole tensors, tests of single elements, and products of matrices, under PyTorch's names."""

from . import halftone as _generated
from .checks import describe, needed_number, tensor
from .arithmetic import add
from .operands import WITH_NUMBER, operands
from .registry import both, function


@both
def isnan(input):
    """True for elements that are NaN."""
    return _generated.is_nan(tensor("isnan", "input", input))


@both
def isfinite(input):
    """True for elements that are neither infinite nor NaN."""
    return _generated.is_finite(tensor("isfinite", "input", input))


@both
def isinf(input):
    """True for elements that are infinite."""
    return _generated.is_inf(tensor("isinf", "input", input))


def _close(name, input, other, rtol, atol, equal_nan):
    """The arguments of C for two operands that are compared."""
    return (*operands(name, input, other), needed_number(name, "rtol", rtol), needed_number(name, "atol", atol),
            equal_nan)


@both
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True for elements that differ by at most atol + rtol * |other|; NaN is close to NaN if equal_nan."""
    return _generated.is_close(*_close("isclose", input, other, rtol, atol, equal_nan))


@both
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if all elements are close, as isclose says."""
    return _generated.all_close(*_close("allclose", input, other, rtol, atol, equal_nan))


@both
def equal(input, other):
    """True if both have one shape and equal elements."""
    first, second = tensor("equal", "input", input), tensor("equal", "other", other)
    return first.shape == second.shape and bool(_generated.all(_generated.eq(first, second)).item())


def _matrix_product(name, first_dims, second_dims, documentation):
    def made(input, mat2):
        first, second = tensor(name, "input", input), tensor(name, "mat2", mat2)
        for argument, given, wanted in (("input", first, first_dims), ("mat2", second, second_dims)):
            if given.ndim != wanted:
                raise ValueError(f"{name}: {argument} must have {wanted} dimensions, got shape {given.shape}")
        return _generated.matmul(first, second)

    made.__name__ = name
    made.__doc__ = documentation
    return both(made)


mm = _matrix_product("mm", 2, 2, "The product of two matrices.")
bmm = _matrix_product("bmm", 3, 3, "The products of two batches of matrices.")
mv = _matrix_product("mv", 2, 1, "The product of a matrix and a vector.")
dot = _matrix_product("dot", 1, 1, "The sum of the products of two vectors.")


_DISTANCE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@function
def cdist(x1, x2, p=2.0, compute_mode=_DISTANCE_MODES[0]):
    """The p-norms of the differences of all pairs of rows: [..., n, d] and [..., m, d] give [..., n, m]. Every
    compute_mode computes the differences themselves.
    """
    if compute_mode not in (None, *_DISTANCE_MODES):
        raise ValueError(f"cdist: compute_mode must be one of {_DISTANCE_MODES}, got {describe(compute_mode)}")
    return _generated.cdist(tensor("cdist", "x1", x1), tensor("cdist", "x2", x2), needed_number("cdist", "p", p))


@function
def einsum(equation, *operands):
    """Multiplies two tensors and sums over dimensions, as an equation such as "bij,bjk->bik" says, or sums and permutes
    those of one tensor. The tensors are arguments or one sequence.
    """
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    if not 1 <= len(given) <= 2:
        raise ValueError(f"einsum: takes one or two operands, got {len(given)}; multiply others by a second call")
    made = [tensor("einsum", f"operands[{index}]", item) for index, item in enumerate(given)]
    return _generated.einsum(equation, *made)


@both
def outer(input, vec2):
    """The products of all elements of two vectors: [n] and [m] give [n, m]."""
    first, second = tensor("outer", "input", input), tensor("outer", "vec2", vec2)
    for argument, given in (("input", first), ("vec2", second)):
        if given.ndim != 1:
            raise ValueError(f"outer: {argument} must have 1 dimension, got shape {given.shape}")
    return _generated.mul(_generated.unsqueeze(first, 1), _generated.unsqueeze(second, 0))


@both
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2)."""
    product = mm(mat1, mat2)
    if beta == 0:  # NaN and infinities of input do not count
        return WITH_NUMBER["mul"](product, alpha)
    scaled = input if beta == 1 else WITH_NUMBER["mul"](tensor("addmm", "input", input), beta)
    return add(scaled, product, alpha=alpha)
