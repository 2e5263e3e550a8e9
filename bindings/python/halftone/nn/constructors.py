"""Constructors of classes that are made of tables."""


class Signature:
    """The signature of a class and its constructor, which is made when it is first needed: `make` takes time. A class
    that derives from the class and has a constructor of its own has its own signature.
    """

    def __init__(self, kind, make):
        self.kind, self.make, self.made = kind, make, None

    def get(self):
        if self.made is None:
            self.made = self.make()
        return self.made

    def __get__(self, made, kind):
        if kind.__init__ is not self.kind.__init__:
            raise AttributeError("__signature__")
        return self.get()


def add_constructor(kind, make_signature, begin):
    """Gives a class a constructor with a signature; it calls begin(self, arguments) with all arguments by name."""
    signature = Signature(kind, make_signature)

    def __init__(self, *arguments, **settings):
        try:
            bound = signature.get().bind(*arguments, **settings)
        except TypeError as error:
            raise TypeError(f"{kind.__name__}: {error}") from None
        bound.apply_defaults()
        begin(self, bound.arguments)

    __init__.__qualname__, __init__.__module__ = f"{kind.__name__}.__init__", kind.__module__
    __init__.__doc__ = kind.__doc__
    kind.__init__ = __init__
    kind.__signature__ = signature
    return signature.get
