"""The words of the exceptions for wrong arguments. The wrapper loads this module when it refuses the first one."""

import difflib

from . import halftone as _generated
from .checks import describe
from .enums import ENUMERATIONS

# Functions that are called for others, whose names the user has written.
_PUBLIC_NAMES = {"batches_of_function": "from_function", "borrow_buffer": "from_buffer", "keep_handle": "keep",
                 "make_capsule": "__dlpack__", "read_memory": "read", "share_memory": "numpy",
                 "store_of_functions": "from_object", "take_capsule": "from_dlpack"}
# How to get the expected object from another one.
_ADVICE = {("Tensor", "Parameter"): "; its tensor is the attribute `tensor`",
           ("Tensor", "ndarray"): "; halftone.tensor() copies an array, and halftone.from_numpy() shares its memory",
           ("Parameter", "Tensor"): "; Parameter() makes one of a tensor",
           ("Parameters", "Module"): "; Parameters.from_module() makes them of a module"}


def function_name(symbol):
    """The name that a user writes for a function of the wrapper: linear for Module_linear, Tensor for new_Tensor."""
    owner, _, name = symbol.partition("_")
    if owner == "new":
        return name
    if isinstance(getattr(_generated, owner, None), type):
        return owner if name.endswith(("_get", "_set")) else name
    return _PUBLIC_NAMES.get(symbol, symbol)


def _with_article(noun):
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"


def _exception_class(cause, given, expected):
    if isinstance(cause, BufferError):
        return BufferError
    if isinstance(cause, OverflowError) or (isinstance(given, int) and expected.startswith("an int ")):
        return OverflowError
    is_unknown_name = isinstance(given, str) and expected in ENUMERATIONS
    return ValueError if is_unknown_name else TypeError


def _advice(expected, given, cause):
    if expected in ENUMERATIONS and isinstance(given, str):
        return "; known are " + ", ".join(repr(name.lower()) for name in ENUMERATIONS[expected].__members__)
    if isinstance(cause, BufferError):
        return f"; {cause}"
    return _ADVICE.get((expected, type(given).__name__), "")


def wrong_value(symbol, name, index, expected, given, cause):
    """Makes the exception for an argument, or for an item of a sequence. `cause` is what its conversion has raised; one
    that is no complaint about the value, such as KeyboardInterrupt, stays.
    """
    if cause is not None and not isinstance(cause, (TypeError, ValueError, OverflowError, BufferError)):
        return cause
    place = name if index < 0 else f"{name}[{index}]"
    noun = _with_article(expected) if expected.isidentifier() else expected
    text = f"{function_name(symbol)}: {place} must be {noun}, got {describe(given)}{_advice(expected, given, cause)}"
    return _exception_class(cause, given, expected)(text)


def wrong_call(symbol, names, required, positional, keywords):
    """Makes the exception for arguments that do not fit a signature."""
    function, keywords = function_name(symbol), keywords or {}
    shown = [name for name in names if name != "self"]
    if len(positional) > len(names):
        given = len(positional) - (len(names) - len(shown))
        taken = f"{len(shown)} arguments ({', '.join(shown)})" if shown else "no arguments"
        return TypeError(f"{function}: takes {taken}, got {given}")
    for name in keywords:
        if name not in names:
            close = difflib.get_close_matches(name, shown, 1)
            advice = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(shown) or 'none'}"
            return TypeError(f"{function}: no argument has the name {name}{advice}")
        if names.index(name) < len(positional):
            return TypeError(f"{function}: {name} is given twice, by its place and by its name")
    missing = [name for name in names[len(positional) : required] if name not in keywords]
    return TypeError(f"{function}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
