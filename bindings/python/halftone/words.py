"""Messages of the library in Python's words. halftone.errors loads this module when the first call fails."""

import re

from .arguments import function_name
from .names import NAMES

_OF_C = re.compile(r"\b(?:HTONE|htone)_\w+(?:(?<=_)\.\.\.)?")
_SETTING = re.compile(r"\boptions\.(?=[a-z])")


def _name(found):
    name = found[0].rstrip(".")
    return NAMES.get(name) or name.partition("_")[2].rstrip("_").lower()


def in_python(symbol, message):
    """A message that begins with the name of the function that the caller has written. A setting is an argument, except
    where a function takes a structure of settings.
    """
    failed, separator, text = message.partition(": ")
    if separator and failed in NAMES:
        name = function_name(symbol)
        text = text if name.startswith("set_") else _SETTING.sub("", text)
        message = f"{name}: {text}"
    return re.sub(r"\bNULL\b", "None", _OF_C.sub(_name, message))
