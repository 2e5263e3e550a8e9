"""A module as a text, in PyTorch's shape."""

from .methods import method


@method
def extra_repr(self):
    """The settings that print() shows; a class may override it."""
    return ""


@method
def _get_name(self):
    return type(self).__name__


@method
def __repr__(self):
    try:
        rows = [f"({name}): " + repr(part).replace("\n", "\n  ") for name, part in self.named_children()]
    except Exception as error:  # a closed module still has a name
        return f"<{type(self).__name__}: {error}>"
    settings = self.extra_repr()
    if not rows:
        return f"{self._get_name()}({settings})"
    lines = ([settings] if settings else []) + rows
    return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
