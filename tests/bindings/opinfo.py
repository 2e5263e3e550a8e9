"""Runs the samples of PyTorch's own operator tests (OpInfo) through the Python package, for each operator that has the
same name here, and counts their outcomes.

    opinfo.py [--only NAME] [--show]      PYTHONPATH leads to the package; the interpreter has torch and expecttest

Prints a line for each operator: samples with the same result, with another one, refused by the Python layer, and
refused by C. Fails if the Python layer refuses a sample, or a result differs, for a reason that opinfo_reasons.py does
not have.
--only runs one operator, and --show prints each message.
"""

import argparse
import collections
import re
import sys
import warnings
from pathlib import Path

import halftone as ht
import torch
from halftone.nn import functional
from opinfo_reasons import DIFFERENT, FAULTS, RANDOM, REFUSED
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = {torch.float32: ht.float32, torch.float64: ht.float64, torch.bfloat16: ht.bfloat16, torch.int64: ht.int64,
          torch.bool: ht.bool}
# Bounds of the error, relative to the largest element where sums cancel.
TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-10, torch.bfloat16: 2e-2, torch.float16: 2e-3}
OUTCOMES = ("same", "other", "python", "c")
FUNCTIONAL = "nn.functional."


class Unknown(Exception):
    """An argument that halftone has no counterpart of, such as a complex number."""


def here(value):
    """An argument of PyTorch as one of halftone."""
    if isinstance(value, torch.Tensor):
        return tensor_here(value)
    if isinstance(value, torch.dtype):
        if not hasattr(ht, str(value)[6:]):
            raise Unknown(value)
        return getattr(ht, str(value)[6:])
    if isinstance(value, torch.device):
        return value.type
    if isinstance(value, (list, tuple)):
        return type(value)(map(here, value)) if type(value) in (list, tuple) else tuple(map(here, value))
    if isinstance(value, (torch.layout, torch.memory_format, torch.Generator, complex)):
        raise Unknown(value)
    return value


def tensor_here(value):
    if value.is_complex() or value.is_quantized or value.layout != torch.strided or value.device.type != "cpu":
        raise Unknown(value.dtype)
    made = ht.from_dlpack(value.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format))
    return made.requires_grad_() if value.requires_grad else made


def there(value):
    """A result of halftone as one of PyTorch."""
    if isinstance(value, ht.Tensor):
        value = value.detach()
        return torch.from_dlpack(value if value.is_contiguous() else value.contiguous())
    if isinstance(value, (list, tuple)):
        return [there(item) for item in value]
    return value


# Operators whose samples have another order than the arguments of the function.
CALLS = {"einsum": lambda tensors, equation: ht.einsum(equation, tensors),
         "where": lambda input, condition, other: ht.where(condition, input, other)}
# Names that mean something else here, such as unfold, which is that of images.
OTHER_MEANINGS = {"fill", "slice", "unfold"}


def function_of(op):
    """The function or method of halftone with the operator's name; None if there is none."""
    if op.name in CALLS or op.name in OTHER_MEANINGS:
        return CALLS.get(op.name)
    if op.name.startswith(FUNCTIONAL):
        return getattr(functional, op.name[len(FUNCTIONAL):], None)
    if "." in op.name or (op.name.startswith("_") and not op.name.startswith("__")):
        return None
    found = getattr(ht, op.name, None)
    if callable(found):
        return found
    attribute = getattr(ht.Tensor, op.name, None)
    return attribute.fget if isinstance(attribute, property) else attribute


def are_same(expected, found, name):
    if isinstance(expected, (list, tuple)):
        return (isinstance(found, list) and len(expected) == len(found)
                and all(are_same(*both, name) for both in zip(expected, found)))
    if not isinstance(expected, torch.Tensor):
        return expected == found or expected != expected
    if not isinstance(found, torch.Tensor) or (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return False
    return name in RANDOM or are_near(expected.detach(), found)


def are_near(expected, found):
    if not expected.is_floating_point():
        return torch.equal(expected, found)
    tolerance = TOLERANCES[expected.dtype]
    expected, found = expected.double(), found.double()
    finite = expected[expected.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return torch.allclose(expected, found, rtol=tolerance, atol=tolerance * largest, equal_nan=True)


def outcome(op, function, sample):
    """The outcome of a sample, and its message; None if PyTorch refuses it or halftone has no such arguments."""
    try:
        arguments = here((sample.input, *sample.args))
        settings = {key: here(item) for key, item in sample.kwargs.items()}
        expected = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return None
    if has_other_dtype(expected):
        return None
    try:
        found = there(function(*arguments, **settings))
    except ht.HalftoneException as error:
        return "c", str(error)
    except Exception as error:
        return "python", f"{type(error).__name__}: {error}"
    if are_same(expected, found, op.name):
        return "same", ""
    return "other", f"{described(expected)} in PyTorch, {described(found)} here"


def has_other_dtype(value):
    if isinstance(value, (list, tuple)):
        return any(map(has_other_dtype, value))
    return isinstance(value, torch.Tensor) and value.is_complex()


def described(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]} {list(value.shape)} {value.detach().flatten()[:4].tolist()}"
    return "[" + ", ".join(map(described, value)) + "]" if isinstance(value, (list, tuple)) else repr(value)


def samples_of(op):
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            torch.manual_seed(1)
            for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
                yield dtype, sample


def run(op, function):
    """The number of samples by outcome, and by the messages of those with another one."""
    counts, messages = collections.Counter(), collections.Counter()
    for dtype, sample in samples_of(op):
        made = outcome(op, function, sample)
        if made is None:
            continue
        counts[made[0]] += 1
        if made[0] != "same":
            messages[made[0], f"{str(dtype)[6:]}: {made[1]}"] += 1
    return counts, messages


def is_known(name, kind, text):
    """True if there is a reason for an outcome. C gives its own reason."""
    other = [*DIFFERENT.get(name, {}).values(), *FAULTS.get(name, [])]
    patterns = {"python": REFUSED.get(name, {}), "other": other, "c": [""]}[kind]
    return any(re.search(pattern, text) for pattern in patterns)


def missing_rows():
    """The rows of DIFFERENT that docs/pytorch.md lacks."""
    document = (Path(__file__).resolve().parents[2] / "docs/pytorch.md").read_text(encoding="utf-8")
    return sorted({row for rows in DIFFERENT.values() for row in rows if f"\n| {row} | " not in document})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only")
    options.add_argument("--show", action="store_true")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    total, wrong = collections.Counter(), 0
    print(f"{'operator':40} {'same':>6} {'other':>6} {'python':>6} {'c':>6}")
    for op in op_db:
        function = function_of(op)
        if function is None or (options.only and op.name != options.only):
            continue
        counts, messages = run(op, function)
        total.update(counts)
        print(f"{op.formatted_name:40} " + " ".join(f"{counts[kind]:6}" for kind in OUTCOMES), flush=True)
        for (kind, text), count in messages.items():
            unknown = not is_known(op.name, kind, text)
            wrong += count if unknown else 0
            if unknown or options.show or op.name in FAULTS:
                print(f"    {kind} x{count}{' without a reason' if unknown else ''}: {text[:300]}")
    print(f"{'all':40} " + " ".join(f"{total[kind]:6}" for kind in OUTCOMES))
    print(f"{wrong} samples without a reason")
    for row in missing_rows():
        print(f"docs/pytorch.md has no row {row!r}")
    return 1 if wrong or missing_rows() else 0


if __name__ == "__main__":
    sys.exit(main())
