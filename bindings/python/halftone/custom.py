"""Functions with a backward of their own, and the end of a hook's block."""

from . import halftone as _generated
from .halftone import Function, Hook, Tensor
from .scopes import no_grad


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
