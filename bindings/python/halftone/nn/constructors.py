"""Constructors of classes that are made of tables."""

import inspect


def add_constructor(kind, signature, begin):
    """Gives a class a constructor with a signature; it calls begin(self, arguments) with all arguments by name."""
    def __init__(self, *arguments, **settings):
        try:
            bound = signature.bind(*arguments, **settings)
        except TypeError as error:
            raise TypeError(f"{kind.__name__}: {error}") from None
        bound.apply_defaults()
        begin(self, bound.arguments)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = signature.replace(parameters=[own, *signature.parameters.values()])
    __init__.__qualname__, __init__.__module__ = f"{kind.__name__}.__init__", kind.__module__
    __init__.__doc__ = kind.__doc__
    kind.__init__ = __init__
