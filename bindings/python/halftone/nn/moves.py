"""Moves of a module to another device or dtype."""

from .. import halftone as _generated
from ..halftone import Device, Module
from ..leaves import weights_moved
from .methods import method
from .parameter import Parameter
from .parts import parts, set_part

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
    device = Device(device) if isinstance(device, str) else device
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
        values = parameter.detach().to(dtype, device)
        is_same = values.dtype == parameter.dtype and _name_of(values.device) == _name_of(parameter.device)
        moved[id(parameter)] = None
        if not is_same:
            moved[id(parameter)] = Parameter(values)
    made = moved[id(parameter)]
    if made is None:
        return
    _c.Module_replace_parameter(module, name, made.handle)
    if parameter.handle is not made.handle:
        parameter._replace(made.handle)


def _name_of(device):
    return device.name


def _move_buffers(module, device, dtype):
    for which in ("_buffers", "_transient"):
        for name, buffer in list(parts(module, which).items()):
            if buffer is None:
                continue
            is_float = str(buffer.dtype) in _FLOATS
            is_here = device is None or _name_of(buffer.device) == _name_of(device)
            if is_here and (dtype is None or not is_float or "_is_custom" not in module.__dict__):
                continue  # the running statistics of a layer of the library stay in their dtype
            if "_is_custom" not in module.__dict__:
                raise NotImplementedError(f"to: the buffers of {type(module).__name__} cannot move to another device; "
                                          "make the layer there: device=...")
            made = buffer.to(dtype if is_float else None, device)
            set_part(module, which, name, made)


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
