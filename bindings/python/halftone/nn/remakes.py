"""A layer that is made anew with another device or setting, which the library fixes when it makes a layer."""

from .. import halftone as _generated
from ..scopes import no_grad
from .parts import REPLACE, holders_of, parts, set_part
from .quiet import without_draws

_c = _generated._halftone


def remake(layer, **changed):
    """Gives a layer another module of the library with the parameters, the values of the buffers, the mode and the mark
    of the one before. The modules that hold the layer hold the new one then.
    """
    _require_free(layer, changed)
    kind, arguments = layer.__dict__["_made"]
    own = {**arguments, **changed}
    with without_draws():
        made, settings = kind._made_of(own)
    before = layer.__dict__.get("_native", layer)
    _take_parts(made, before)
    _c.Module_set_training(made, before.training)
    _c.Module_set_recompute(made, _c.Module_recomputes(before))
    buffers = dict(parts(made, "_buffers"))
    if before is layer:
        layer.__dict__["this"] = made.this
        layer.__dict__["_buffers"] = buffers
        layer.__dict__.update((name, tensor) for name, tensor in buffers.items() if layer._shows_parts)
        _tell_holders(layer)
    else:
        layer.__dict__["_native"] = made
        for name, tensor in buffers.items():
            set_part(layer, "_buffers", name, tensor)
    layer.__dict__.update(_made=(kind, own), _settings=settings)
    layer.__dict__.update((name, value) for name, value in settings.items() if name != "bias")


def _require_free(layer, changed):
    kind, what = type(layer).__name__, ", ".join(changed)
    if "_made" not in layer.__dict__:
        raise NotImplementedError(f"{kind}: {what} cannot change, since the library made it; make it as nn.{kind}()")
    if layer.__dict__.get("_hooked"):
        raise NotImplementedError(f"{kind}: {what} cannot change while hooks are on the layer; add them after it")


def _take_parts(made, before):
    for name, parameter in parts(before, "_parameters").items():
        if parameter is not None:
            REPLACE["_parameters"](made, name, parameter.handle)
    for name, tensor in parts(made, "_buffers").items():
        with no_grad():
            _c.Tensor_copy_from(tensor, parts(before, "_buffers")[name].to(device=tensor.device))


def _tell_holders(layer):
    for holder in holders_of(layer):
        for name, part in parts(holder, "_modules").items():
            if part is layer:
                REPLACE["_modules"](holder, name, layer)
