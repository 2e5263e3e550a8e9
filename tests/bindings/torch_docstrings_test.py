"""Runs the examples of PyTorch's docstrings over halftone, for each name that halftone has, and compares results.

    torch_docstrings_test.py VENV     installs PyTorch's package into VENV, from PyPI, without those that it needs

Prints the number of examples by outcome, and a line for each that does not do what PyTorch does. Fails if fewer than
SAME print the same, or more than OTHER something else. Nothing of the docstrings is in this tree.
"""

import collections
import contextlib
import importlib
import io
import os
import pkgutil
import re
import sys
import tempfile
import warnings
from pathlib import Path

import halftone as ht
import printed
import torch_docstrings
import venvs

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-numpy)")
    sys.exit(77)

TORCH = "torch==2.15.0"
# Measured with this version. A change that makes more examples run raises the first.
SAME, OTHER = 290, 7
# Calls whose values are random, or whatever memory held. A layer draws its weights.
RANDOM = re.compile(r"\b(Generator|rand\w*|empty\w*|normal_?|bernoulli_?|multinomial|Tensor\([\d, ]+\)|new_empty|"
                    r"\w*uniform_|nn\.[A-Z]\w*\(|[dD]ropout\w*)\b")
NAME = re.compile(r"[A-Za-z_]\w*")


def stand_in():
    """Programs that import torch get halftone."""
    for module in pkgutil.walk_packages(ht.__path__, "halftone."):
        if not module.name.endswith("._halftone"):
            importlib.import_module(module.name)
    for name in [name for name in sys.modules if name.split(".")[0] == "halftone"]:
        sys.modules["torch" + name.removeprefix("halftone")] = sys.modules[name]


class Documentation:
    """The examples of one name, which run one after another in one namespace."""

    def __init__(self, name, text):
        self.name, self.examples = name, torch_docstrings.examples(text)
        self.names = {"torch": ht, "ht": ht, "nn": ht.nn, "F": ht.nn.functional, "optim": ht.optim, "np": np,
                      "math": importlib.import_module("math"), "__name__": "example"}
        self.unknown = set()  # variables with values that no example has printed
        self.missing = set()  # variables of examples that failed

    def run(self):
        """Pairs of an outcome and a line of text."""
        for example in self.examples:
            yield self.outcome(example)

    def outcome(self, example):
        source = example.source.strip()
        used = set(NAME.findall(source))
        if "xdoctest" in source or "cuda" in source or used & self.missing:
            self.missing |= assigned(source)
            return "not applicable", source
        try:
            got = self.printed_by(example.source)
        except SyntaxError:
            return "not applicable", source
        except Exception as error:
            return self.refused(example, source, error)
        return self.compared(example.want, got, source, used)

    def printed_by(self, source):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, self.name, "single"), self.names)
        return output.getvalue()

    def refused(self, example, source, error):
        self.missing |= assigned(source)
        if example.exc_msg is not None:
            return "same", source
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
        is_foreign = isinstance(error, (ModuleNotFoundError, FileNotFoundError, NameError))  # of others
        return ("not applicable" if is_foreign else "refused"), f"{source.splitlines()[0]}  ->  {said}"

    def compared(self, wanted, got, source, used):
        made = assigned(source)
        is_unknown = bool(RANDOM.search(source) or used & self.unknown)
        self.unknown = self.unknown | made if is_unknown else self.unknown - made
        if not wanted.strip():
            return "ran", source
        if is_unknown:
            return self.taken(source, wanted)
        if not got:  # an assignment, which prints nothing in PyTorch either
            return "not applicable", source
        if printed.are_same(wanted, got):
            return "same", source
        return "other", f"{source}  ->  {' '.join(got.split())[:150]}  and not  {' '.join(wanted.split())[:150]}"

    def taken(self, name, wanted):
        """A random tensor that an example prints gets the printed values, so that results of it can be compared."""
        known, values = self.names.get(name), printed.values(wanted)
        if isinstance(known, ht.Tensor) and values is not None:
            made = ht.tensor(values, dtype=known.dtype)
            if made.shape == known.shape:
                if known.requires_grad:
                    made.requires_grad = True
                self.names[name] = made
                self.unknown.discard(name)
        return "ran", name


def assigned(source):
    """The variables that a statement sets."""
    found = re.match(r"([\w, ]+?)\s*=[^=]", source)
    return set(NAME.findall(found[1])) if found else set()


def has(name):
    """True if halftone has PyTorch's name."""
    found = ht
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def run(name, text):
    documentation = Documentation(name, text)
    ht.manual_seed(0)
    try:
        return list(documentation.run())
    finally:
        ht.set_default_dtype("f32")
        ht.set_default_device("cpu")
        ht.set_grad_enabled(True)


def main():
    interpreter = venvs.install(Path(sys.argv[1]), [TORCH, "--no-deps"],
                                "from importlib.util import find_spec as f; assert f('torch')")
    package = next(interpreter.parents[1].glob("lib/python*/site-packages/torch"))
    known = {name: text for name, text in torch_docstrings.read(package).items() if has(name)}
    counts = collections.Counter()
    stand_in()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in sorted(known.items()):
            for outcome, line in run(name, text):
                counts[outcome] += 1
                if outcome in ("refused", "other"):
                    print(f"{outcome}: {name}: {line}")
    print(f"{len(known)} names of {TORCH}; examples: {dict(counts)}; expected {SAME} same and {OTHER} other")
    return 0 if counts["same"] >= SAME and counts["other"] <= OTHER else 1


if __name__ == "__main__":
    sys.exit(main())
