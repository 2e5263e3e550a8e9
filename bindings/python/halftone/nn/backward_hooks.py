"""Hooks of a module's backward with PyTorch's arguments: hook(module, grad_input, grad_output).

The arguments of a call that are tensors, and its results, pass a boundary that copies nothing: a function whose
backward sees all their gradients together, those of this call alone.
"""

import threading

from ..halftone import Function, Tensor
from .arguments import refuse


class _Call:
    """One call of a module, between its boundaries."""

    def __init__(self, module, hook, before):
        self.module, self.hook, self.before = module, hook, before
        self.grad_output = self.grad_input = None
        self.has_inputs = False

    def leave(self, gradients):
        """Backward arrives at the results."""
        self.grad_output = gradients
        if self.before:
            self.grad_output = _replaced("grad_output", self.hook(self.module, gradients), gradients)
        elif not self.has_inputs:
            _replaced("grad_input", self.hook(self.module, self.grad_input, gradients), self.grad_input)
        return self.grad_output

    def arrive(self, gradients):
        """Backward arrives at the arguments. A gradient that did not pass the results has none for the hook."""
        if self.grad_output is None:
            return gradients
        return _replaced("grad_input", self.hook(self.module, gradients, self.grad_output), gradients)


def _replaced(what, returned, gradients):
    if returned is None:
        return gradients
    given = returned if isinstance(returned, tuple) else (returned,)
    if len(given) != len(gradients):
        raise TypeError(f"a backward hook returned {len(given)} gradients in place of {what}, expected "
                        f"{len(gradients)}")
    return given


class _Boundary:
    """The backward of values that stay the same. `told` sees the gradients of all values, None for those without."""

    def __init__(self, told, positions, count):
        self.told, self.positions, self.count = told, positions, count

    def __call__(self, saved, grad_outputs, needs_grad):
        gradients = [None] * self.count
        for position, gradient in zip(self.positions, grad_outputs):
            gradients[position] = gradient
        changed = self.told(tuple(gradients))
        return [changed[position] for position in self.positions]


def _passed(values, told):
    """The values, of which those that require a gradient are results of a boundary; None if there are none."""
    positions = [index for index, item in enumerate(values) if isinstance(item, Tensor) and item.requires_grad]
    if not positions:
        return None
    function = Function("backward_hook", _Boundary(told, positions, len(values)))
    inside = [values[position] for position in positions]
    results = dict(zip(positions, function.record(inside, [item.detach() for item in inside], [])))
    return tuple(results.get(index, item) for index, item in enumerate(values))


class _Hooks:
    """The hooks before and after forward that make a hook of the backward."""

    def __init__(self, module, hook, before):
        self.hook, self.before = hook, before
        self.calls = threading.local()
        self.registered = [module.register_forward_pre_hook(self.enter), module.register_forward_hook(self.leave)]

    def enter(self, module, arguments):
        call = _Call(module, self.hook, self.before)
        self.calls.__dict__.setdefault("open", []).append(call)
        if self.before:
            return None
        passed = _passed(arguments, call.arrive)
        call.has_inputs, call.grad_input = passed is not None, (None,) * len(arguments)
        return passed

    def leave(self, module, arguments, output):
        call = self.calls.open.pop()
        if not isinstance(output, (Tensor, tuple)):
            raise TypeError(f"{type(module).__name__}: with a backward hook forward must return a tensor or a tuple of "
                            f"tensors, got {type(output).__name__}")
        passed = _passed(output if isinstance(output, tuple) else (output,), call.leave)
        return passed if passed is None or isinstance(output, tuple) else passed[0]


class Registration:
    """Hooks that end together: by remove(), or at the end of a `with`."""

    def __init__(self, hooks):
        self.hooks = hooks

    def remove(self):
        """Ends the hook. A second call does nothing."""
        for hook in self.hooks:
            hook.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def register_full_backward_hook(self, hook, prepend=False):
    """Calls hook(module, grad_input, grad_output) when a backward has computed the gradients of a call's arguments.
    What it returns replaces grad_input, unless it is None. Keyword arguments are not part of it. remove() ends it.
    """
    refuse("register_full_backward_hook", prepend=(prepend, False))
    return Registration(_Hooks(self, hook, before=False).registered)


def register_full_backward_pre_hook(self, hook, prepend=False):
    """Calls hook(module, grad_output) when a backward arrives at the results of a call. What it returns replaces
    grad_output, unless it is None. remove() ends it.
    """
    refuse("register_full_backward_pre_hook", prepend=(prepend, False))
    return Registration(_Hooks(self, hook, before=True).registered)
