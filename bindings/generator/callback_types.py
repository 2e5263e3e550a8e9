"""The functions of the caller that the library calls, as types of Java and C#: parameters and result of each, from the
C declaration. swig/callbacks.h gives and takes the same ones.
"""
import re
from dataclasses import dataclass

from description import Api
from words import pascal

# The parameters that a type of C becomes: kind and name; without a name it has that of the C parameter.
PARAMETERS = {
    "htone_tensor*": [("tensor", "")],
    "htone_module*": [("module", "")],
    "htone_parameter*": [("parameter", "")],
    "const char*": [("text", "")],
    "int64_t": [("integer", "")],
    "size_t": [("integer", "")],
    "const htone_forward_call*": [("tensors", "inputs")],
    "const htone_backward_call*": [("tensors", "saved"), ("tensors", "grad_outputs"), ("flags", "needs_grad")],
}
# The result for which a type of C has a place.
RESULTS = {"double*": "number", "htone_tensor**": "tensor", "const htone_forward_call*": "tensors",
           "const htone_backward_call*": "tensors"}


@dataclass
class CallbackType:
    c_name: str
    text: str
    parameters: list[tuple[str, str]]  # kind and name
    result: str  # tensor, tensors, number, or empty

    def name(self) -> str:
        return pascal(self.c_name.removeprefix("htone_").removesuffix("_fn")) + "Function"


def callback_type(c_name: str, described: dict) -> CallbackType:
    inside = re.search(r"\)\((.*)\)$", described["declaration"])[1]
    rows = [re.fullmatch(r"(.*[ *])(\w+)", row.strip()).groups() for row in inside.split(", ")]
    pairs = [(kind.strip(), name) for kind, name in rows if name != "user"]
    parameters = [(kind, given or name) for c_type, name in pairs for kind, given in PARAMETERS.get(c_type, [])]
    if c_name == "htone_forward_hook_fn":  # the only one for which call->outputs is there
        parameters.append(("tensors", "outputs"))
    results = [RESULTS[c_type] for c_type, _ in pairs if c_type in RESULTS]
    unknown = [c_type for c_type, _ in pairs if c_type not in PARAMETERS and c_type not in RESULTS]
    if unknown:
        raise ValueError(f"{c_name}: swig/callbacks.h gives no {unknown[0]}")
    return CallbackType(c_name, described["text"], parameters, results[0] if results else "")


def callback_types(api: Api) -> dict[str, CallbackType]:
    """Those that a function of the C API takes as an argument of its own."""
    used = {argument["of"] for function in api.functions for argument in function["arguments"]
            if argument["role"] == "callback" and "of" in argument and function["name"] not in BY_HAND}
    return {name: callback_type(name, api.callbacks[name]) for name in sorted(used)}


BY_HAND = {"htone_batches_create_callback"}
