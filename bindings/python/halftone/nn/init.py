"""Fills tensors and parameters with initial values; each function returns its tensor."""

from .. import halftone as _generated
from ..scopes import no_grad

_c = _generated._halftone


def uniform_(tensor, a=0.0, b=1.0):
    """Draws from [a, b)."""
    _c.init_uniform(tensor, a, b)
    return tensor


def normal_(tensor, mean=0.0, std=1.0):
    """Draws from a normal distribution."""
    _c.init_normal(tensor, mean, std)
    return tensor


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Draws from a normal distribution, within [a, b]."""
    _c.init_truncated_normal(tensor, mean, std, a, b)
    return tensor


def constant_(tensor, val):
    """One value."""
    _c.Tensor_fill(tensor, val)
    return tensor


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def eye_(tensor):
    """Ones on the diagonal of a matrix, zeros beside it."""
    with no_grad():
        _c.Tensor_copy_from(tensor, _c.eye(tensor.device, tensor.dtype, *tensor.shape))
    return tensor


def _nonlinearity(name):
    return "linear" if name.startswith("conv") else name


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the size of values through an activation."""
    return _c.init_gain(_nonlinearity(nonlinearity), 0.01 if param is None else param)


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu"):
    """Uniform values that keep the size of values through layers with an activation."""
    _c.init_kaiming_uniform(tensor, _mode(mode), _nonlinearity(nonlinearity), a)
    return tensor


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu"):
    """Normal values that keep the size of values through layers with an activation."""
    _c.init_kaiming_normal(tensor, _mode(mode), _nonlinearity(nonlinearity), a)
    return tensor


def _mode(mode):
    modes = {"fan_in": "in", "fan_out": "out"}
    if mode not in modes:
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return modes[mode]


def xavier_uniform_(tensor, gain=1.0):
    """Uniform values whose size is that of inputs and gradients."""
    _c.init_xavier_uniform(tensor, gain)
    return tensor


def xavier_normal_(tensor, gain=1.0):
    """Normal values whose size is that of inputs and gradients."""
    _c.init_xavier_normal(tensor, gain)
    return tensor


def orthogonal_(tensor, gain=1.0):
    """Orthogonal rows or columns."""
    _c.init_orthogonal(tensor, gain)
    return tensor


__all__ = [name for name in globals() if name.endswith("_") and not name.startswith("_")] + ["calculate_gain"]
