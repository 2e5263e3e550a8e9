"""The enumerations of the C headers, made from the plain integer constants of the generated module."""

from enum import IntEnum

from . import halftone as _generated


class _Enumeration(IntEnum):
    def __str__(self):
        return self.name.lower()


def _collect():
    """A constant of the generated module is called Dtype_BF16."""
    members = {}
    for key, value in vars(_generated).items():
        name, separator, member = key.partition("_")
        if separator and name[:1].isupper() and isinstance(value, int):
            members.setdefault(name, {})[member] = value
    return {name: _Enumeration(name, values, module=__name__) for name, values in members.items()}


ENUMERATIONS = _collect()
globals().update(ENUMERATIONS)
__all__ = sorted(ENUMERATIONS)


def from_value(name, value):
    """Makes the member of a value; one of a newer library stays a plain integer. Called by the wrapper."""
    return ENUMERATIONS[name]._value2member_map_.get(value, value)


def from_name(name, member):
    """Finds a member by its name in any case, for arguments such as dtype="bf16". Called by the wrapper."""
    found = ENUMERATIONS[name].__members__.get(member.upper())
    if found is None:
        known = ", ".join(repr(key.lower()) for key in ENUMERATIONS[name].__members__)
        raise ValueError(f"{member!r} is no {name}; known are {known}")
    return found
