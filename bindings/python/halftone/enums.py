"""The enumerations of the C headers, made from the plain integer constants of the generated module."""

from enum import IntEnum

from . import halftone as _generated


def _collect(name):
    prefix = name + "_"
    members = {key[len(prefix) :]: value for key, value in vars(_generated).items() if key.startswith(prefix)}
    return IntEnum(name, members)


Dtype = _collect("Dtype")
Status = _collect("Status")
