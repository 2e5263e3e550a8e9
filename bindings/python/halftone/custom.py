"""Modules with a forward of their own, and functions with a backward of their own."""

import inspect
import weakref

from . import halftone as _generated
from .halftone import Function, Hook, Module, Parameter, Tensor
from .scopes import no_grad

_MOST_INPUTS = 64
_forward = vars(Module)["forward"]


class _Forward:
    """The library calls this for a module; it finds the module's object. Several objects may stand for one module, one
    after the other: they share their attributes.

    A module keeps this object, which keeps the attributes; an object keeps the module. So the attributes must not refer
    to the object itself, and `this` among them owns no reference. The reference is in the slot `_owner`.
    """

    def __init__(self, made):
        self.kind = type(made)
        self.attributes = made.__dict__
        self.made = weakref.ref(made)

    def __call__(self, module, inputs):
        return (self.made() or self.make(module)).forward(*_present(inputs))

    def make(self, module):
        """The last object is gone, but another module still has this one as a part."""
        made = self.kind.__new__(self.kind)
        made.__dict__ = self.attributes
        _own(made, module)
        self.made = weakref.ref(made)
        return made


def _own(made, module):
    made._owner = module
    made.__dict__["this"] = _generated.borrow_module(module).this


def _present(inputs):
    """Absent inputs at the end are left out, so that forward's own defaults hold."""
    count = len(inputs)
    while count > 0 and inputs[count - 1] is None:
        count -= 1
    return inputs[:count]


def _count_inputs(forward):
    """How many tensors forward takes, and how many of them it needs."""
    parameters = inspect.signature(forward).parameters.values()
    places = [item for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    needed = sum(item.default is item.empty for item in places)
    takes_more = any(item.kind is item.VAR_POSITIONAL for item in parameters)
    return max(1, _MOST_INPUTS if takes_more else len(places)), max(1, needed)


def _init_module(self, outputs=1):
    """Begins a module with its own forward. Parameters and modules become parts of it when they are set as attributes,
    under the attributes' names.

        class Residual(halftone.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = nn.Linear(width, width)

            def forward(self, x):
                return x + self.inner(x)

    forward takes tensors and returns one, or as many as `outputs` says. An argument with a default may be absent.
    """
    kind = type(self)
    if kind is Module or vars(Module)["forward"] is inspect.getattr_static(self, "forward"):
        raise TypeError("a module is made by nn.Linear(...) and so on, or by a class that derives from Module and has "
                        "a forward")
    count, needed = _count_inputs(self.forward)
    made = Module.custom(_Forward(self), input_count=count, required_inputs=needed, output_count=outputs)
    _own(self, made)
    self.__dict__["_output_count"] = outputs


def _set_attribute(self, name, value):
    if isinstance(value, (Module, Parameter)) and name != "_owner":
        if "_output_count" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before an attribute is set")
        add = self.add_child if isinstance(value, Module) else self.add_parameter
        add(name, value)
    object.__setattr__(self, name, value)


def _register_buffer(self, name, tensor):
    """Adds a tensor to the module's state, which no optimizer updates, and sets it as an attribute."""
    self.add_buffer(name, tensor)
    object.__setattr__(self, name, tensor)


def _call(self, *inputs, policy=None):
    """Runs the module: with its hooks, under `policy` or the thread's autocast. Returns its output, or a tuple if it is
    a class of Python's with several outputs; forward_n returns several of any module.
    """
    outputs = self.__dict__.get("_output_count", 1)
    if len(inputs) == 1 and outputs == 1:
        return _forward(self, inputs[0], policy)
    made = self.forward_n(inputs, policy, outputs)
    return made if outputs > 1 else made[0]


def _close(self):
    """Releases the object now; closing it again does nothing."""
    if self.thisown:
        self.__swig_destroy__(self)
    elif "_output_count" in self.__dict__:
        self._owner.close()


Module.__init__ = _init_module
Module.__setattr__ = _set_attribute
Module.__call__ = _call
Module.close = _close
Module.register_buffer = _register_buffer


class _Context:
    """Shared by forward and backward of one use of a function: any attributes of their own, and saved tensors."""

    def __init__(self):
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors, of which backward finds the same values as `saved_tensors`. Another attribute must not be a
        tensor that requires a gradient: it would keep the graph alive.
        """
        self.saved_tensors = tensors


class _Backward:
    def __init__(self, function, context, positions, count):
        self.function, self.context = function, context
        self.positions, self.count = positions, count

    def __call__(self, saved, grad_outputs, needs_grad):
        self.context.saved_tensors = saved
        needed = [False] * self.count
        for position, is_needed in zip(self.positions, needs_grad):
            needed[position] = bool(is_needed)
        self.context.needs_input_grad = tuple(needed)
        returned = self.function.backward(self.context, *grad_outputs)
        gradients = returned if isinstance(returned, (tuple, list)) else (returned,)
        if len(gradients) != self.count:
            raise TypeError(f"{self.function.__name__}.backward returned {len(gradients)} gradients, expected "
                            f"{self.count}: one for each argument of forward")
        return [gradients[position] if needed[position] else None for position in self.positions]


def _apply(cls, *arguments):
    """Computes the function and records it.

        class Square(halftone.Function):
            @staticmethod
            def forward(context, x):
                context.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(context, gradient):
                (x,) = context.saved_tensors
                return 2 * x * gradient

        y = Square.apply(x)

    forward takes tensors and other arguments. backward returns a gradient for each of them: None is zero, and for what
    is no tensor. A gradient that arrives as None is zero.
    """
    context = _Context()
    with no_grad():
        returned = cls.forward(context, *arguments)
    outputs = returned if isinstance(returned, (tuple, list)) else (returned,)
    positions = [index for index, item in enumerate(arguments) if isinstance(item, Tensor)]
    function = _generated.Function(cls.__name__, _Backward(cls, context, positions, len(arguments)))
    saved, context.saved_tensors = context.saved_tensors, ()
    results = function.record([arguments[index] for index in positions], outputs, saved)
    return results if isinstance(returned, (tuple, list)) else results[0]


Function.apply = classmethod(_apply)


def _leave_hook(self, *exception):
    self.remove()
    self.close()


Hook.__exit__ = _leave_hook
