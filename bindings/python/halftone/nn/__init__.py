"""Layers, losses and containers with PyTorch's names: nn.Linear(784, 256), nn.Sequential(...), nn.functional."""

from ..halftone import Module
# These complete the class.
from . import attributes, copies, forward, modes, module, moves, registration, states, texts, walks  # noqa: F401
from . import functional, init, utils  # noqa: F401
from . import activations, containers, layers, paddings
from .activations import *  # noqa: F403
from .containers import *  # noqa: F403
from .layers import *  # noqa: F403
from .paddings import *  # noqa: F403
from .parameter import Parameter

__all__ = ["Module", "Parameter", "functional", "init", "utils", *layers.__all__, *containers.__all__,
           *activations.__all__, *paddings.__all__]
