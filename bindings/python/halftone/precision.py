"""The precision of products of float32, by PyTorch's names."""

from .cuda import device_count
from .devices import device_of
from .enums import DeviceOption
from .registry import function

_PRECISIONS = ("highest", "high", "medium")
_chosen = "highest"


@function
def get_float32_matmul_precision():
    """Returns the name that set_float32_matmul_precision chose; "highest" at first."""
    return _chosen


@function
def set_float32_matmul_precision(precision):
    """Lets products of float32 round their operands to TF32: "high" and "medium" do, "highest" does not. It holds for
    the CPU and the GPUs of the default context.
    """
    global _chosen
    if precision not in _PRECISIONS:
        raise ValueError(f"set_float32_matmul_precision: precision must be one of {', '.join(_PRECISIONS)}, "
                         f"got {precision!r}")
    for name in ("cpu", *(f"cuda:{index}" for index in range(device_count()))):
        device_of("set_float32_matmul_precision", name).set_option(DeviceOption.TF32_PRODUCTS,
                                                                   int(precision != "highest"))
    _chosen = precision
