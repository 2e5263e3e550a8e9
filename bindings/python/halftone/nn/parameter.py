"""A parameter as a tensor: a module trains it, and every operation takes it."""

from .. import halftone as _generated
from ..errors import HalftoneException
from ..halftone import Parameter as Handle
from ..halftone import Tensor
from ..leaves import moves, weights_moved
from ..scopes import no_grad

_c = _generated._halftone

class _Leaf:
    """SWIG asks this object, which is `this` of a parameter, for the real one: the leaf of the weights as they are now.
    A leaf that was taken before an optimizer split the weights would not follow them. It has no __dict__, since SWIG
    asks an object with one for its entry alone.
    """

    __slots__ = ("handle", "kept", "moves")

    def __init__(self, handle):
        self.handle, self.kept, self.moves = handle, None, -1

    @property
    def this(self):
        if self.moves != moves():
            self.kept, self.moves = _own_leaf(self.handle).this, moves()
        return self.kept


def _write(leaf, values):
    with no_grad():
        _c.Tensor_copy_from(leaf, values.detach())


def _own_leaf(handle):
    """A scope() in which it is taken must not release it; with scopes inside one another, scopes.py takes it anew."""
    leaf = _c.Parameter_tensor(handle)
    _generated.keep_handle(leaf)
    return leaf


class Parameter(Tensor):
    """A tensor that a module trains when it is set as an attribute.

        self.scale = nn.Parameter(halftone.tensor([1.0]))

    The weights are a copy of `data`. Every operation takes a parameter, and `grad` is its gradient, or None. With
    requires_grad=False it is frozen.
    """

    def __init__(self, data, requires_grad=True):
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, got {type(data).__name__}")
        if str(data.dtype) not in ("f64", "f32", "f16", "bf16"):
            raise TypeError(f"Parameter: data must be of a float dtype, got {data.dtype}")
        handle = _c.Parameter_zeros(data.device, "parameter", data.dtype, list(data.shape))
        self._take(handle)
        _write(self, data)
        if not requires_grad:
            self.requires_grad = False

    def _take(self, handle):
        _generated.keep_handle(handle)
        self.__dict__["_handle"] = handle
        self.__dict__["this"] = _Leaf(handle)

    @classmethod
    def _of(cls, handle):
        """The parameter of a handle of the library."""
        made = cls.__new__(cls)
        made._take(handle)
        return made

    @property
    def handle(self):
        """The object of the library that has the weights, the gradient and the state of an optimizer."""
        return self._handle

    @property
    def tensor(self):
        """The weights as a plain tensor, which backward reaches."""
        return _c.Parameter_tensor(self._handle)

    shape = property(lambda self: _c.Parameter_shape(self._handle), doc="The sizes of the dimensions.")
    dtype = property(lambda self: _c.Parameter_dtype(self._handle), doc="The dtype of the weights.")
    name = property(lambda self: _c.Parameter_name(self._handle), doc="The name that it was made with.")
    thisown = property(lambda self: self._handle.thisown, doc="False after close().")

    def numel(self):
        """The number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def frozen(self):
        """True if it does not train."""
        return _c.Parameter_is_frozen(self._handle)

    @frozen.setter
    def frozen(self, value):
        _c.Parameter_set_frozen(self._handle, bool(value))
        weights_moved()

    requires_grad = property(lambda self: not self.frozen, lambda self, value: setattr(self, "frozen", not value),
                             doc="False if it is frozen.")
    is_leaf = property(lambda self: True, doc="True: no operation has made it.")

    def requires_grad_(self, requires_grad=True):
        """Lets it train, or freezes it; returns it."""
        self.requires_grad = requires_grad
        return self

    def set_frozen(self, frozen=True):
        """Freezes it, or lets it train."""
        self.frozen = frozen

    @property
    def grad(self):
        """The gradient, or None."""
        try:
            return _c.Parameter_grad(self._handle)
        except HalftoneException as error:
            if "has no gradient" in str(error):
                return None
            raise

    @grad.setter
    def grad(self, value):
        if value is None:
            _c.Tensor_zero_grad(self)
        else:
            _c.Parameter_set_grad(self._handle, value)

    @property
    def data(self):
        """A tensor over the memory of the weights, without gradients. Setting it copies values into the weights."""
        return self.detach()

    @data.setter
    def data(self, value):
        _write(self, value)

    def whole(self):
        """The weights in their dtype, to be read. The leaf of weights that an optimizer has split has their bf16 part."""
        return _c.Parameter_read(self._handle, self.dtype)

    def read(self, dtype):
        """The weights in a dtype, to be read."""
        return _c.Parameter_read(self._handle, dtype)

    def set_grad(self, gradient):
        """Sets the gradient: the same as setting `grad`."""
        _c.Parameter_set_grad(self._handle, gradient)

    def accumulate_grad(self, gradient):
        """Adds to the gradient."""
        _c.Parameter_accumulate_grad(self._handle, gradient)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls hook(parameter) when a backward has completed its gradient; returns the registration."""
        return _c.Parameter_add_post_accumulate_hook(self._handle, lambda handle: hook(Parameter._of(handle)))

    add_post_accumulate_hook = register_post_accumulate_grad_hook

    def close(self):
        """Releases the object now; closing it again does nothing."""
        self._handle.close()

    def __repr__(self):
        try:
            return f"Parameter containing:\n{_c.Tensor_format(self)}"
        except HalftoneException as error:
            return f"<Parameter: {error}>"

    def __deepcopy__(self, memo):
        made = type(self)(self.whole(), requires_grad=self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        return _remade, (type(self), self.whole(), self.requires_grad)

    def _replace(self, handle):
        """Puts other weights into the same object, as a module's to() does."""
        frozen = self.frozen
        self._take(handle)
        if frozen:
            self.frozen = True


def _remade(kind, data, requires_grad):
    return kind(data, requires_grad)


def handle_of(parameter):
    """The library's own object of a parameter; any other object itself."""
    return parameter.handle if isinstance(parameter, Parameter) else parameter


__all__ = ["Parameter"]
