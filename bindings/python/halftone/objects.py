"""Every class of the library says what an object is, refuses an attribute that it does not have, and names the calls
that make its objects. A class of a user that derives from one has free attributes.
"""

from . import halftone as _generated
from .errors import InvalidHandleError

# The facts that repr() shows: properties, and methods without arguments.
_FACTS = {
    "Context": ["num_threads"],
    "Device": ["name"],
    "GradScaler": ["current_scale"],
    "Group": ["kind", "rank", "size"],
    "MovingAverage": ["count"],
    "Optimizer": ["lr", "step_count"],
    "Parameter": ["name", "shape", "dtype"],
    "Parameters": ["count"],
    "Sampler": ["batches_per_epoch", "position"],
    "StateDict": ["count"],
}


def _fact(thing, name):
    value = getattr(thing, name)
    value = value() if callable(value) else value
    return f"{name}={value if hasattr(value, 'denominator') else repr(value)}"


def _describe(self):
    kind = type(self).__name__
    try:
        facts = ", ".join(_fact(self, name) for name in _FACTS.get(kind, []))
    except InvalidHandleError:
        return f"<{kind}: closed>"
    except Exception as error:  # repr() must not raise
        return f"<{kind}: {error}>"
    return f"<{kind}: {facts}>" if facts else f"<{kind}>"


def _set_attribute(self, name, value):
    kind = type(self)
    if kind in _CLASSES and not name.startswith("_") and name != "this" and not hasattr(kind, name):
        import difflib  # here, since it takes a millisecond of each start of a program

        known = [other for other in dir(kind) if not other.startswith("_") and other != "thisown"]
        close = difflib.get_close_matches(name, known, 1)
        advice = f"; did you mean {close[0]}?" if close else ""
        raise AttributeError(f"{kind.__name__} has no attribute {name}{advice}", name=name, obj=self)
    object.__setattr__(self, name, value)


def _refuse_construction(self, *arguments, **settings):
    kind = type(self)
    makers = [f"{kind.__name__}.{name}" for name, value in vars(kind).items() if isinstance(value, staticmethod)]
    raise TypeError(f"{kind.__name__}: its objects are made by {', '.join(makers) or 'other calls of halftone'}")


def _refuse_copies(self, protocol):
    advice = "; copy or save its state_dict()" if hasattr(self, "state_dict") else ""
    raise TypeError(f"{type(self).__name__} cannot be copied or pickled{advice}")


_CLASSES = {value for value in vars(_generated).values() if isinstance(value, type) and hasattr(value, "thisown")}
for _class in _CLASSES:
    _class.__repr__ = _describe
    _class.__setattr__ = _set_attribute
    _class.__reduce_ex__ = _refuse_copies
    if not hasattr(_generated._halftone, f"new_{_class.__name__}"):
        _class.__init__ = _refuse_construction
