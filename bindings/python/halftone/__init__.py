"""halftone for Python: mixed-precision training of neural networks.

    import halftone as ht
    from halftone import nn, optim

    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    for images, labels in ht.DataLoader(ht.TensorDataset(images, labels), batch_size=64, shuffle=True):
        with ht.autocast("bf16"):
            loss = ht.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Each Python object owns its native object. It is released when the object is collected, by close(), at the end of a
`with` over the object, or at the end of a scope(). Every function of the library is here; help() shows its arguments.
An enumeration's member may be given by its name: dtype="bf16".
"""

import importlib

from . import enums, errors
from . import halftone as _generated
from .enums import *  # noqa: F403: their names are those of the C headers
from .errors import *  # noqa: F403
from .operations import OPERATIONS as _OPERATIONS

_HIDDEN = {"batches_of_function", "borrow_buffer", "borrow_module", "keep_handle", "make_capsule", "read_memory",
           "share_memory", "store_of_functions", "take_capsule", "watch_signal", "weakref"}
_ADOPTED = [name for name, value in vars(_generated).items()
            if not name.startswith("_") and name not in _HIDDEN and callable(value)]

for _name in _ADOPTED:
    globals()[_name] = getattr(_generated, _name)
# An operation whose first argument is a tensor is a method, too. A function of Python becomes one by itself.
_as_method = getattr(_generated, "_swig_new_instance_method", lambda function: function)
for _name in _OPERATIONS:
    if not hasattr(_generated.Tensor, _name):
        setattr(_generated.Tensor, _name, _as_method(getattr(_generated, _name)))

# These complete the classes. A structure is a class with properties as long as no other class has one.
from . import objects, structures  # noqa: E402, F401, I001
from . import callers, custom, modules, tensors  # noqa: E402, F401, I001
from . import comparisons, conversions, creation, elementwise, generators, grad_mode, inplace  # noqa: E402, F401
from . import order, reductions, registry, scattering  # noqa: E402, F401
from . import precision, serialization, shapes, threads  # noqa: E402, F401
from .buffers import from_buffer, from_dlpack, from_numpy, tensor  # noqa: E402
from .interrupts import watch_interrupts  # noqa: E402
from .devices import default_device, set_default_device  # noqa: E402
from .dtypes import CONSTANTS, TYPES_OF_PYTHON, finfo, get_default_dtype, iinfo, set_default_dtype  # noqa: E402
from . import cuda, nn  # noqa: E402
from .scopes import autocast, deferred_init, detect_anomaly, keep, no_grad, scope  # noqa: E402

inplace.add_methods()
watch_interrupts()
globals().update(registry.FUNCTIONS)
globals().update(CONSTANTS)

__version__ = _generated.version_string()
__all__ = [*enums.__all__, *errors.__all__, *_ADOPTED, *(name for name in registry.FUNCTIONS if name not in _ADOPTED),
           *(name for name in CONSTANTS if name not in TYPES_OF_PYTHON), "DataLoader", "TensorDataset", "amp",
           "autocast", "cuda", "default_device", "deferred_init", "detect_anomaly", "finfo", "from_buffer",
           "from_dlpack", "from_numpy", "get_default_dtype", "iinfo", "keep", "nn", "no_grad", "optim", "scope",
           "set_default_device", "set_default_dtype", "tensor", "utils", "watch_interrupts"]

# Parts that a program may not need, and the module of each: they load others of Python, such as concurrent.futures.
_LATER = {"amp": "amp", "optim": "optim", "utils": "utils", "DataLoader": "utils.data", "TensorDataset": "utils.data"}


def __getattr__(name):
    """Loads a part at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    module = importlib.import_module(f"{__name__}.{_LATER[name]}")
    globals()[name] = module if name == _LATER[name] else getattr(module, name)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *_LATER})
