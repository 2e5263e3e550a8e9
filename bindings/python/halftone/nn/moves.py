"""Moves of a module to another device or dtype."""

from .. import halftone as _generated
from ..devices import device_of
from ..halftone import Device, Module
from ..leaves import weights_moved
from .methods import method
from .parameter import Parameter
from .parts import parts, set_part
from .remakes import remake

_c = _generated._halftone
_FLOATS = ("f64", "f32", "f16", "bf16")


@method
def to(self, device=None, dtype=None):
    """Moves parameters and buffers to a device, or floats to a dtype; returns the module, whose parameters are the same
    objects. Make optimizers after it.
    """
    if device is not None and not isinstance(device, (Device, str)):
        device, dtype = None, device
    elif isinstance(device, str) and (device in _FLOATS or device.startswith(("float", "bfloat"))):
        device, dtype = None, device
    device = None if device is None else device_of("to", device)
    moved = {}
    for module in self.modules():
        for name, parameter in parts(module, "_parameters").items():
            if parameter is not None:
                _move_parameter(module, name, parameter, device, dtype, moved)
        _move_buffers(module, device, dtype)
    weights_moved()
    return self


def _move_parameter(module, name, parameter, device, dtype, moved):
    if id(parameter) not in moved:
        values = parameter.whole().to(dtype, device)
        is_same = values.dtype == parameter.dtype and not _is_elsewhere(values, parameter.device)
        moved[id(parameter)] = None
        if not is_same:
            moved[id(parameter)] = Parameter(values)
    made = moved[id(parameter)]
    if made is None:
        return
    _c.Module_replace_parameter(module, name, made.handle)
    native = module.__dict__.get("_native")  # the library's module inside of one with its own forward
    if native is not None and name in parts(native, "_parameters"):
        _c.Module_replace_parameter(native, name, made.handle)
    if parameter.handle is not made.handle:
        parameter._replace(made.handle)


def _move_buffers(module, device, dtype):
    if "_made" in module.__dict__ and any(_is_elsewhere(part, device) for part in parts(module, "_buffers").values()):
        remake(module, device=device)
    # The running statistics of a layer of the library stay in their dtype.
    kept = parts(module, "_buffers") if "_is_custom" not in module.__dict__ or "_made" in module.__dict__ else {}
    for which in ("_buffers", "_transient"):
        for name, buffer in list(parts(module, which).items()):
            if buffer is None or name in kept and not _is_elsewhere(buffer, device):
                continue
            if name in kept:
                raise NotImplementedError(f"to: the buffers of a {type(module).__name__} that the library made cannot "
                                          "move to another device; make the layer there: device=...")
            is_float = str(buffer.dtype) in _FLOATS
            if _is_elsewhere(buffer, device) or dtype is not None and is_float:
                set_part(module, which, name, buffer.to(dtype if is_float else None, device))


def _is_elsewhere(tensor, device):
    return tensor is not None and device is not None and tensor.device.name != device.name


def _converting(name, dtype):
    def convert(self):
        return self.to(dtype=dtype)

    convert.__name__ = name
    convert.__doc__ = f"Converts the parameters, and the floats among the buffers, to {dtype}; returns the module."
    return convert


for _name, _dtype in (("half", "f16"), ("bfloat16", "bf16"), ("float", "f32"), ("double", "f64")):
    setattr(Module, _name, _converting(_name, _dtype))
Module.cpu = lambda self: self.to("cpu")
Module.cuda = lambda self, device=None: self.to("cuda" if device is None else device)
