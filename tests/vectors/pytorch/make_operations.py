#!/usr/bin/env python3
"""Computes ../operations.json with PyTorch. Run it by hand; only this program needs PyTorch, no test does.

    make_operations.py            writes the file
    make_operations.py --check    compares the file with PyTorch's results; the exit status is 1 if it differs

The cases hold every result of halftone that differs, with the row of docs/pytorch.md that gives the reason.
"""
import json
import pathlib
import sys

import torch

import cases_dtypes  # noqa: F401: fills ALL, as the imports below do
import cases_elementwise  # noqa: F401
import cases_index  # noqa: F401
import cases_loss  # noqa: F401
import cases_product  # noqa: F401
import cases_reduce  # noqa: F401
import cases_scalar  # noqa: F401
import cases_select  # noqa: F401
import cases_shape  # noqa: F401
import cases_step  # noqa: F401
import cases_tile  # noqa: F401
import cases_window  # noqa: F401
from case import ALL, vector
from check_differences import reasons

FOLDER = pathlib.Path(__file__).resolve().parent
FILE = FOLDER.parent / "operations.json"


def text_of(vectors, differences):
    """One case per line, and one difference per line."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in vectors)
    rows = ",\n".join(f"{json.dumps(row)}: {json.dumps(why)}" for row, why in differences.items())
    version = torch.__version__.split("+")[0]
    return (f'{{\n"format": "halftone-vectors/1",\n"topic": "operations",\n"source": "PyTorch {version} on a CPU",\n'
            f'"differences": {{\n{rows}\n}},\n"vectors": [\n{lines}\n]\n}}\n')


def main():
    torch.set_num_threads(1)
    why = reasons()
    named = {given["differs"] for given in ALL} - {None}
    assert named <= why.keys(), named - why.keys()
    names = [given["name"] for given in ALL]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    text = text_of([vector(given) for given in ALL], {row: why[row] for row in why if row in named})
    if sys.argv[1:] != ["--check"]:
        FILE.write_text(text, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
        print(f"{FILE.name} differs from the results of PyTorch {torch.__version__}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
