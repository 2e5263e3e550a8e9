"""Gradients of many parameters together."""

import weakref

from .. import halftone as _generated
from ..buffers import tensor
from ..halftone import Tensor
from ..scopes import no_grad
from .parameter import Parameter

_c = _generated._halftone


def note_owner(optimizer, parameters):
    """Remembers which optimizer updates parameters, and so scales and clips their gradients."""
    for parameter in parameters:
        parameter.__dict__["_optimizer"] = weakref.ref(optimizer)


def _with_gradients(function, parameters):
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for parameter in given:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"{function}: parameters must be Tensors, got {type(parameter).__name__}")
    return [parameter for parameter in given if parameter.grad is not None]


def _owner_of(parameters):
    owners = {id(found): found for found in (_optimizer_of(parameter) for parameter in parameters)}
    return next(iter(owners.values())) if len(owners) == 1 else None


def _optimizer_of(parameter):
    reference = parameter.__dict__.get("_optimizer")
    return None if reference is None else reference()


def get_total_norm(tensors, norm_type=2.0):
    """The norm of all tensors together."""
    norms = [_generated.vector_norm(item.detach().to("f32"), norm_type) for item in tensors]
    if not norms:
        return tensor(0.0)
    return _generated.vector_norm(_generated.stack(norms, 0), norm_type)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients down so that their norm together is at most max_norm; returns the norm before. After
    GradScaler.unscale_ it limits the unscaled gradients, and takes all parameters of one optimizer.
    """
    norm_type = float(norm_type)
    found = _with_gradients("clip_grad_norm_", parameters)
    owner = _owner_of(found)
    if owner is not None and norm_type == 2.0 and _has_all(owner, found):
        norm = _c.Optimizer_grad_norm(owner)
        _c.Optimizer_clip_grad_norm(owner, max_norm, error_if_nonfinite)
        return tensor(norm)
    for parameter in found:
        own = _optimizer_of(parameter)
        if own is not None and _c.Optimizer_grad_factor(own) != 1.0:
            raise NotImplementedError("clip_grad_norm_: after GradScaler.unscale_ it takes all parameters of one "
                                      "optimizer, and norm_type=2")
    norm = get_total_norm([parameter.grad for parameter in found], norm_type)
    total = norm.item()
    if error_if_nonfinite and not abs(total) < float("inf"):
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {total}")
    factor = max_norm / (total + 1e-6)
    if factor < 1.0:
        for parameter in found:
            _change(parameter, parameter.grad * factor)
    return norm


def _has_all(optimizer, found):
    known = getattr(optimizer, "_parameters", None)
    known = known() if callable(known) else known
    ids = {id(parameter) for parameter in found}
    return known is not None and all(id(item) in ids or item.grad is None for item in known)


def _change(parameter, gradient):
    if isinstance(parameter, Parameter):
        parameter.grad = gradient
    else:
        _c.Tensor_copy_from(parameter.grad, gradient)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Bounds every element of the gradients to [-clip_value, clip_value]."""
    for parameter in _with_gradients("clip_grad_value_", parameters):
        own = _optimizer_of(parameter)
        if own is not None and _c.Optimizer_grad_factor(own) != 1.0:
            raise NotImplementedError("clip_grad_value_: the gradients are scaled; use optimizer.set_grad_value_limit")
        _change(parameter, _generated.clamp(parameter.grad, -clip_value, clip_value))


def parameters_to_vector(parameters):
    """All parameters, one after another, in one dimension."""
    return _generated.cat([_generated.reshape(parameter, [-1]) for parameter in parameters], 0)


def vector_to_parameters(vec, parameters):
    """Copies the elements of a vector into parameters, one after another: the inverse of parameters_to_vector."""
    given = list(parameters)
    counts = [parameter.numel() for parameter in given]
    if list(vec.shape) != [sum(counts)]:
        raise ValueError(f"vector_to_parameters: vec has shape {list(vec.shape)}, expected {[sum(counts)]}")
    with no_grad():
        for parameter, part in zip(given, vec.detach().split(counts) if given else ()):
            _c.Tensor_copy_from(parameter, part.reshape(parameter.shape))


def zero_gradients(parameters):
    """Writes zeros into the gradients that there are."""
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad = _c.Tensor_zeros_like(parameter.grad)


__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
