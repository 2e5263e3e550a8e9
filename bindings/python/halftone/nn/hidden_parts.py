"""Parts in plain lists, which a module does not see."""

from ..halftone import Module
from .parameter import Parameter
from .parts import PARTS, parts

HIDING = (list, tuple, dict, set)


def hidden_parts(value):
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, (Module, Parameter))]


def require_no_hidden_parts(self):
    """A part in a plain list would not train, and would not be saved; PyTorch does not notice it."""
    known = None
    for module in self.modules():
        for name, value in module.__dict__.items():
            if name in (*PARTS, "_transient") or not isinstance(value, HIDING) or not hidden_parts(value):
                continue
            known = _known_parts(self) if known is None else known
            if any(id(item) not in known for item in hidden_parts(value)):
                raise TypeError(f"{type(module).__name__}.{name} is a {type(value).__name__} with modules or "
                                "parameters, which would not train; use nn.ModuleList, nn.ModuleDict or "
                                "nn.ParameterList")


def _known_parts(self):
    known = {id(module) for module in self.modules()}
    return known | {id(parameter) for module in self.modules() for parameter in parts(module, "_parameters").values()}
