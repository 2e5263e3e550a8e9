"""Making modules whose weights come from elsewhere."""

import contextlib

from ..halftone import Context
from ..scopes import deferred_init


@contextlib.contextmanager
def without_draws():
    """Draws no random numbers inside, and takes no memory for weights that are replaced."""
    context = Context.default_context()
    before = context.generator_state()
    try:
        with deferred_init():
            yield
    finally:
        context.set_generator_state(before)
