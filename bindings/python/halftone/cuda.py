"""GPUs by PyTorch's names: `device = halftone.device("cuda" if halftone.cuda.is_available() else "cpu")`."""

from .devices import default_device, device_of
from .errors import HalftoneException
from .halftone import Context


def device_count():
    """The number of GPUs that the plugin for CUDA finds; 0 without the plugin."""
    try:
        device_of("device_count", "cuda:0")
    except HalftoneException:
        return 0
    context = Context.default_context()
    return sum(context.device_info(index).name.startswith("cuda:") for index in range(context.device_count()))


def is_available():
    """True if there is a GPU, and the plugin for CUDA beside the library."""
    return device_count() > 0


def synchronize(device=None):
    """Waits until the work of a device is done: of the default device, or of the first GPU."""
    chosen = default_device() if device is None else device_of("synchronize", device)
    (chosen if device is not None or chosen.type == "cuda" else device_of("synchronize", "cuda")).synchronize()


__all__ = ["device_count", "is_available", "synchronize"]
