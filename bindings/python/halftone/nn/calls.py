"""Calls of modules whose forward is Python's. The library runs them, with hooks, recomputation and the names of layers
in messages; it passes tensors alone. What else forward takes and returns waits here, on the calling thread.
"""

import threading
import weakref

from .. import halftone as _generated
from ..buffers import from_buffer, tensor
from ..halftone import Tensor
from .tree import pack, unpack

_c = _generated._halftone
MOST_TENSORS = 64
_local = threading.local()
# True after a module was marked for recomputation: then backward runs forward again, from its tensors alone.
may_recompute = [False]
_tokens = weakref.WeakValueDictionary()


class Call:
    """One call of a module, from its arguments to its result."""

    __slots__ = ("attributes", "arguments", "packed", "replaced", "began", "result")

    def __init__(self, attributes, arguments, packed):
        self.attributes, self.arguments, self.packed = attributes, arguments, packed
        self.replaced = self.began = False
        self.result = None

    def given(self, inputs):
        """The arguments of forward, as a tuple and a dictionary."""
        return unpack(self.packed, inputs) if self.replaced else self.arguments


class _Token(bytearray):
    """The memory of a tensor that stands for arguments which are no tensors. It lives as long as the tensor does, which
    backward keeps for a recomputation.
    """


def _token_of(packed):
    token = _Token(8)
    token.packed = packed
    token[:] = id(token).to_bytes(8, "little")
    _tokens[id(token)] = token
    return from_buffer(memoryview(token).cast("q"))


def current(attributes):
    """The running call of the module with these attributes, or None: the library may run a module by itself."""
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack and stack[-1].attributes is attributes else None


def dummy():
    """A module of the library has at least one input and one output."""
    return tensor(0.0)


def run(module, arguments, settings, policy):
    """Calls a module of Python's through the library."""
    tensors = []
    packed = pack((arguments, settings), tensors)
    call = Call(module.__dict__, (arguments, settings), packed)
    if len(tensors) > MOST_TENSORS - 1:
        raise TypeError(f"{type(module).__name__}: a call takes at most {MOST_TENSORS - 1} tensors, got {len(tensors)}")
    inputs = tensors or [dummy()]
    if may_recompute[0] and not (tensors and not settings and all(isinstance(item, Tensor) for item in arguments)):
        inputs = inputs + [None] * (MOST_TENSORS - 1 - len(inputs)) + [_token_of(packed)]
    stack = _local.__dict__.setdefault("stack", [])
    stack.append(call)
    try:
        outputs = _c.Module_forward_n(module, inputs, policy, MOST_TENSORS)
    finally:
        stack.pop()
    return unpack(call.result, outputs)


def forward(module, attributes, inputs):
    """Runs forward of a module for the library; returns its tensors."""
    call = current(attributes)
    if call is not None and not call.began:
        call.began = True
        arguments, settings = call.given(inputs)
    else:
        call, (arguments, settings) = None, _given_alone(inputs)
    result = module.forward(*arguments, **settings)
    tensors = []
    packed = pack(result, tensors)
    if len(tensors) > MOST_TENSORS:
        raise TypeError(f"{type(module).__name__}.forward returned {len(tensors)} tensors, expected at most "
                        f"{MOST_TENSORS}")
    if call is not None:
        call.result = packed
    elif not isinstance(result, Tensor) and not _generated.is_recomputing():
        raise TypeError(f"{type(module).__name__}.forward returned {_described(result)}; a module of the library that "
                        "runs it, such as Sequential, takes one tensor")
    return tensors or [dummy()]


def _described(result):
    return f"a {type(result).__name__}" if result is not None else "None"


def _given_alone(inputs):
    """The arguments where no call of Python's waits. Absent inputs at the end are left out, so that forward's own
    defaults hold.
    """
    if len(inputs) == MOST_TENSORS and inputs[-1] is not None:
        return unpack(_tokens[inputs[-1].item()].packed, inputs)
    count = len(inputs)
    while count > 0 and inputs[count - 1] is None:
        count -= 1
    return inputs[:count], {}
