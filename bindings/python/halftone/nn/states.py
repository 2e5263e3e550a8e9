"""The state of a module: its parameters and buffers by their names."""

from .. import halftone as _generated
from .hidden_parts import require_no_hidden_parts
from .methods import method

_c = _generated._halftone


@method
def state_dict(self):
    """The parameters and buffers by their names.
    """
    require_no_hidden_parts(self)
    return _c.Module_state_dict(self)


@method
def load_state_dict(self, state_dict, strict=True):
    """Copies values into parameters and buffers by their names: from a StateDict, or a dictionary of tensors. Returns
    the names that are missing and those that are unexpected, which strict=True refuses.
    """
    from ..modules import as_state_dict

    given = as_state_dict(state_dict, "load_state_dict")
    _c.Module_load_state_dict(self, given, strict)
    return LoadedKeys(_c.Module_missing_state(self, given).keys(), _c.Module_unexpected_state(self, given).keys())


class LoadedKeys(tuple):
    """The missing and the unexpected names of a load."""

    def __new__(cls, missing, unexpected):
        return super().__new__(cls, (missing, unexpected))

    missing_keys = property(lambda self: self[0])
    unexpected_keys = property(lambda self: self[1])

    def __repr__(self):
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"LoadedKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"
