"""Cases: an operation with its inputs and settings. The result of PyTorch is computed; a different result of halftone
is written beside it.
"""
import math
import struct
import warnings

import torch

from calls import CALLS
from dtypes import DTYPES, NAMES

INF, NAN = math.inf, math.nan
ALL = []
# Rows of docs/pytorch.md that several files name.
OF_INTEGERS = "silu, softplus, hardswish, mish, selu, log_sigmoid, logaddexp of integers"
AT_INFINITIES = "silu, mish, gelu at infinities and beyond 1e12, gradient"


def shape_of(values):
    return [len(values)] + (shape_of(values[0]) if values else []) if isinstance(values, list) else []


def flat(values):
    return [x for entry in values for x in flat(entry)] if isinstance(values, list) else [values]


def tensor(values, dtype="f32", shape=None, grad=False):
    """An input or an expected result: nested lists or a number, stored in row-major order with a shape."""
    made = {"dtype": dtype, "shape": shape_of(values) if shape is None else list(shape), "values": flat(values)}
    assert math.prod(made["shape"]) == len(made["values"]), made
    return {**made, "grad": True} if grad else made


def leaf(values, dtype="f32", shape=None):
    return tensor(values, dtype, shape, grad=True)


def empty(*shape, dtype="f32", grad=False):
    return tensor([], dtype, shape, grad)


def error(status, stage="operation"):
    return {"error": stage, "status": status}


def only(condition, **fields):
    """The fields of a case that apply only under a condition."""
    return fields if condition else {}


def case(name, operation, inputs=(), differs=None, ours=None, **fields):
    """One case. `attributes` are the operation's settings. `upstream` is the gradient of the first result, by default
    ones. `tolerance` is relative and `absolute` is added to it; the default of both is 0. `differs` names the row of
    docs/pytorch.md, and `ours` holds the parts that differ: outputs, gradients, table, error.
    """
    assert (differs is None) == (ours is None), name
    assert set(fields) <= {"attributes", "upstream", "tolerance", "absolute"}, fields
    ALL.append({"name": name, "operation": operation, "inputs": list(
        inputs), "differs": differs, "ours": ours, **fields})


def torch_tensor(given):
    if given is None:
        return None
    dtype = DTYPES[given["dtype"]]
    wide = torch.float64 if dtype.is_floating_point else dtype
    made = torch.tensor(given["values"], dtype=wide).reshape(given["shape"]).to(dtype)
    return made.requires_grad_(bool(given.get("grad")))


def shortest(value, dtype):
    """The shortest decimal that reads back as `value` in FP32 (f64: in double)."""
    if math.isnan(value) or math.isinf(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if dtype == "f64":
        return value
    for digits in range(1, 10):
        text = float(f"{value:.{digits}g}")
        if struct.pack("f", text) == struct.pack("f", value):
            return text
    raise AssertionError(value)


def number(value, dtype):
    """A whole number has no fraction; a zero keeps its sign."""
    if not dtype.startswith(("f", "bf")):
        return int(value)
    value = shortest(float(value), dtype)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e6 and str(value) != "-0.0"
    return int(value) if is_whole else value


def nested(values, shape):
    if not shape:
        return values[0]
    step = math.prod(shape[1:])
    return [nested(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def written(made):
    """A tensor in the format of the file: nested lists under its dtype's name, and its shape if the lists do not show
    it.
    """
    if made is None:
        return None
    values = [number(x, made["dtype"]) for x in made["values"]]
    answer = {made["dtype"]: [] if 0 in made["shape"] else nested(values, made["shape"])}
    if 0 in made["shape"]:
        answer["shape"] = made["shape"]
    return {**answer, "grad": True} if made.get("grad") else answer


def recorded(made):
    dtype = NAMES[made.dtype]
    wide = made.detach().to(torch.float64 if made.dtype.is_floating_point else torch.int64)
    return {"dtype": dtype, "shape": list(made.shape), "values": wide.flatten().tolist()}


def run(given):
    """Returns PyTorch's results and gradients."""
    tensors = [torch_tensor(entry) for entry in given["inputs"]]
    try:
        results = CALLS[given["operation"]](tensors, given.get("attributes", {}))
    except (RuntimeError, IndexError, TypeError, ValueError, AssertionError):
        return {"error": "operation"}
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    answer = {"outputs": [recorded(result) for result in results]}
    if not any(entry is not None and entry.get("grad") for entry in given["inputs"]):
        return answer
    upstream = given.get("upstream")
    weights = torch.ones_like(results[0]) if upstream is None else torch.tensor(flat(upstream)).to(results[0])
    try:
        torch.autograd.backward(results[0], weights.reshape(results[0].shape))
    except RuntimeError:
        return {**answer, "error": "backward"}
    answer["gradients"] = [None if x is None or x.grad is None else recorded(x.grad)["values"] for x in tensors]
    return answer


def answers_of(given, answer):
    made = {}
    if "error" in answer:
        made["error"] = answer["error"]
    if "status" in answer:
        made["status"] = answer["status"]
    if "outputs" in answer:
        made["outputs"] = [written(output) for output in answer["outputs"]]
    if "gradients" in answer:
        made["gradients"] = [None if gradient is None else [number(x, entry["dtype"]) for x in flat(gradient)]
                             for gradient, entry in zip(answer["gradients"], given["inputs"])]
    if "table" in answer:
        made["table"] = answer["table"]
    return made


def with_theirs(theirs, ours):
    """The expected results of halftone: those of PyTorch, replaced by `ours` where they differ."""
    if "error" in ours:
        return ours
    made = {**theirs, **ours}
    if "outputs" in ours or "gradients" in ours:
        made.pop("error", None)
    return made


def vector(given):
    """The case in the format of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = CALLS[given["operation"]](None, given["attributes"]) if "table" in given["operation"] else run(given)
    made = {"name": given["name"]}
    if not given["name"].startswith(given["operation"] + "/"):
        made["operation"] = given["operation"]
    made.update((key, given[key]) for key in ("attributes", "tolerance", "absolute") if key in given)
    made["inputs"] = [written(entry) for entry in given["inputs"]]
    if "upstream" in given:
        made["upstream"] = [number(x, "f64") for x in flat(given["upstream"])]
    made["pytorch"] = answers_of(given, theirs)
    if given["differs"] is not None:
        ours = given["ours"](theirs) if callable(given["ours"]) else given["ours"]
        made["differs"] = given["differs"]
        made["halftone"] = answers_of(given, with_theirs(theirs, ours))
    return made
