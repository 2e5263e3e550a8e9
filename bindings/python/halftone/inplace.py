"""Operations that write into a tensor's memory, with a name that ends in _, and `x += y`. The library records none of
them: while operations are recorded, a tensor that requires a gradient is not written, and `x += y` makes a new tensor
if nothing else can see the memory of x.
"""

from . import arithmetic, dtypes
from . import halftone as _generated
from .checks import needed_number, number, wrong
from .enums import Dtype
from .errors import HalftoneException
from .grad_mode import is_grad_enabled
from .halftone import Tensor
from .operands import as_tensor, operand
from .registry import method

_IN_PLACE = {name: getattr(Tensor, f"{name}_in_place") for name in ("add", "sub", "mul", "div")}


def is_leaf(self):
    """True if the tensor is no result of recorded operations."""
    if not self.requires_grad:
        return True
    try:
        self.set_requires_grad(True)  # a result refuses it; nothing changes for a leaf
    except HalftoneException:
        return False
    return True


def records(*tensors):
    """True if an operation on these tensors is recorded."""
    return any(made.requires_grad for made in tensors if isinstance(made, Tensor)) and is_grad_enabled()


def check_writable(name, target, *sources):
    """Refuses a write that had to be recorded."""
    if not records(target, *sources):
        return
    if target.requires_grad and is_leaf(target):
        raise RuntimeError(f"{name}: a leaf that requires a gradient is written inside of no_grad() alone")
    what = "this tensor is" if target.requires_grad else "what is written is"
    raise RuntimeError(f"{name}: {what} part of a recorded computation, and a write into memory cannot be recorded; "
                       "compute a new tensor, for instance with where, cat or stack, or write inside of no_grad()")


def _check_kind(name, target, result):
    """As PyTorch: floats are not written into integers, nor numbers into bools."""
    is_float = result.dtype in dtypes.FLOATS and target.dtype not in dtypes.FLOATS
    if is_float or (target.dtype == Dtype.BOOL and result.dtype != Dtype.BOOL):
        raise TypeError(f"{name}: a result of {result.dtype} cannot be written into a tensor of {target.dtype}")


def _store(name, target, result):
    """Writes a result, whose shape must be that of the tensor."""
    _check_kind(name, target, result)
    if result.shape != target.shape:
        raise ValueError(f"{name}: other must broadcast to {target.shape}, but the result has shape {result.shape}")
    target.copy_from(result)
    return target


def _become(target, result):
    """The object stands for another tensor from now on."""
    target.__dict__["this"] = result.__dict__["this"]
    return target


def operator(name):
    """`x += y` and its like. While it must be recorded the object becomes the new tensor, so that all names of the
    object see the change.
    """
    symbol = {"add": "+=", "sub": "-=", "mul": "*=", "div": "/="}[name]
    out_of_place, in_place = getattr(Tensor, name), _IN_PLACE[name]

    def apply(self, other):
        made = as_tensor(other, self)
        if made is None and number(other) is None:
            return NotImplemented
        if records(self, made):
            return _recorded(symbol, self, out_of_place, other)
        if made is None:
            return _store(symbol, self, out_of_place(self, other))
        in_place(self, made)
        return self

    return apply


def operator_of(function, symbol):
    """As operator, for a function whose result C does not write itself."""

    def apply(self, other):
        if as_tensor(other, self) is None and number(other) is None:
            return NotImplemented
        if records(self, other):
            return _recorded(symbol, self, function, other)
        return _store(symbol, self, function(self, other))

    return apply


def _check_unshared(symbol, target):
    """A view of the memory, or its base, would keep the old values."""
    if target.is_shared():
        raise RuntimeError(f"{symbol}: the write has to be recorded, but other tensors, backward or the owner of a "
                           "buffer use the memory of this tensor and would not see it; write "
                           f"x = x {symbol[:-1]} y in place of x {symbol} y, and make the whole of a view anew with "
                           "where, cat or stack")


def _recorded(symbol, target, function, other):
    if target.requires_grad and is_leaf(target):
        check_writable(symbol, target)
    _check_unshared(symbol, target)  # before the operation, which may save the tensor for its own backward
    result = function(target, other)
    _check_kind(symbol, target, result)
    if result.shape != target.shape:
        raise ValueError(f"{symbol}: other must broadcast to {target.shape}, but the result has shape {result.shape}")
    return _become(target, result if result.dtype == target.dtype else _generated.cast(result, target.dtype))


def _arithmetic(name):
    out_of_place, in_place = getattr(arithmetic, name, None) or getattr(Tensor, name), _IN_PLACE[name]

    def write(self, other, **settings):
        made = as_tensor(other, self)
        check_writable(f"{name}_", self, made)
        if made is not None and not settings:
            in_place(self, made)
            return self
        return _store(f"{name}_", self, out_of_place(self, other, **settings))

    write.__name__ = f"{name}_"
    write.__doc__ = f"Writes the result of {name} into this tensor and returns it."
    method(write)


def _of_function(name):
    function = getattr(Tensor, name)

    def write(self, *arguments, **settings):
        check_writable(f"{name}_", self, *arguments)
        return _store(f"{name}_", self, function(self, *arguments, **settings))

    write.__name__ = f"{name}_"
    write.__doc__ = f"Writes the result of {name} into this tensor and returns it."
    method(write)


_WITH_FUNCTION = ("abs", "addcdiv", "addcmul", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil",
                  "clamp", "clamp_max", "clamp_min", "cos", "erf", "exp", "expm1", "floor", "floor_divide", "fmod",
                  "index_add", "index_copy", "lerp", "log", "log10", "log1p", "log2", "masked_fill", "nan_to_num",
                  "neg", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "scatter", "scatter_add",
                  "scatter_reduce", "sigmoid", "sign", "sin", "sqrt", "tan", "tanh", "tril", "triu",
                  "trunc")  # fmt: skip


def add_methods():
    """Adds the writing methods, after all functions that they write the results of."""
    for name in _IN_PLACE:
        _arithmetic(name)
    for name in _WITH_FUNCTION:
        _of_function(name)


@method
def fill_(self, value):
    """Sets every element to one number, and returns the tensor."""
    plain = dtypes.checked_number("fill_", "value", needed_number("fill_", "value", value), self.dtype)
    check_writable("fill_", self)
    if isinstance(plain, int) and abs(plain) > 2**53:
        self.copy_from(operand("fill_", "value", plain, self))
    else:
        self.fill(plain)
    return self


@method
def zero_(self):
    """Sets every element to 0, and returns the tensor."""
    return fill_(self, 0)


@method
def copy_(self, src):
    """Writes the elements of src, which is converted and broadcast, and returns the tensor."""
    source = as_tensor(src, self)
    if source is None:
        raise wrong("copy_", "src", "a Tensor", src)
    check_writable("copy_", self, source)
    self.copy_from(source)
    return self


@method
def normal_(self, mean=0.0, std=1.0):
    """Writes random numbers, normal with a mean and a deviation, and returns the tensor."""
    check_writable("normal_", self)
    _generated.init_normal(self, needed_number("normal_", "mean", mean), needed_number("normal_", "std", std))
    return self


@method
def uniform_(self, a=0.0, b=1.0):
    """Writes random numbers, uniform in [a, b), and returns the tensor."""
    check_writable("uniform_", self)
    _generated.init_uniform(self, needed_number("uniform_", "a", a), needed_number("uniform_", "b", b))
    return self


@method
def bernoulli_(self, p=0.5):
    """Writes 1 with the probability p, else 0, and returns the tensor."""
    check_writable("bernoulli_", self)
    _generated.init_bernoulli(self, needed_number("bernoulli_", "p", p))
    return self


@method
def requires_grad_(self, requires_grad=True):
    """Chooses whether backward computes a gradient for this leaf, and returns the tensor."""
    self.set_requires_grad(bool(requires_grad))
    return self


@method
def detach_(self):
    """Forgets the recorded operations of this tensor, and returns it."""
    return _become(self, self.detach())
