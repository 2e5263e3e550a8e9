"""The number of threads that compute."""

import os

from .checks import integer
from .halftone import Context
from .registry import function

_VARIABLE = "HALFTONE_NUM_THREADS"


@function
def get_num_threads():
    """The number of threads of the default context."""
    return Context.default_context().num_threads


@function
def set_num_threads(num):
    """Chooses the number of threads of the default context. A context keeps its number, so this is possible before the
    first tensor is made; later another number is an error.
    """
    count = integer("set_num_threads", "num", num)
    if not 1 <= count <= 256:
        raise ValueError(f"set_num_threads: num must be from 1 to 256, got {count}")
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(count)  # the default context reads it when it is made
    own = get_num_threads()
    if own == count:
        return
    if before is None:
        del os.environ[_VARIABLE]
    else:
        os.environ[_VARIABLE] = before
    raise RuntimeError(f"set_num_threads: the default context has {own} threads since it was made, so num must be "
                       f"{own}; call it before the first tensor is made, or set {_VARIABLE}")
