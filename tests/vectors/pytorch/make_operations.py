#!/usr/bin/env python3
"""Computes ../operations.json and ../transformers.json with PyTorch. Run it by hand; no test needs PyTorch.

    make_operations.py            writes the files
    make_operations.py --check    compares the files with PyTorch's results; the exit status is 1 if one differs

The cases hold every result of halftone that differs, with the row of docs/pytorch.md that gives the reason.
"""
import json
import os
import pathlib
import sys

# PyTorch chooses kernels by the CPU, and their last digits differ. It reads these settings when it is imported.
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
import torch  # noqa: E402

import cases_attention  # noqa: E402, F401: fills ALL, as the imports below do
import cases_distance  # noqa: E402, F401
import cases_dtypes  # noqa: E402, F401
import cases_elementwise  # noqa: E402, F401
import cases_image  # noqa: E402, F401
import cases_index  # noqa: E402, F401
import cases_linear_cross_entropy  # noqa: E402, F401
import cases_loss  # noqa: E402, F401
import cases_order_statistics  # noqa: E402, F401
import cases_pairs  # noqa: E402, F401
import cases_product  # noqa: E402, F401
import cases_reduce  # noqa: E402, F401
import cases_scalar  # noqa: E402, F401
import cases_scatter  # noqa: E402, F401
import cases_search  # noqa: E402, F401
import cases_select  # noqa: E402, F401
import cases_shape  # noqa: E402, F401
import cases_step  # noqa: E402, F401
import cases_tile  # noqa: E402, F401
import cases_window  # noqa: E402, F401
from case import ALL, vector  # noqa: E402
from check_differences import FILES, reasons  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parents[1]
OF_TRANSFORMERS = ("scaled_dot_product_attention", "rotary_embedding", "linear_cross_entropy")


def file_of(given):
    return FILES[given["operation"] in OF_TRANSFORMERS]


def text_of(vectors, differences):
    """One case per line, and one difference per line."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in vectors)
    rows = ",\n".join(f"{json.dumps(row)}: {json.dumps(why)}" for row, why in differences.items())
    version = torch.__version__.split("+")[0]
    return (f'{{\n"format": "halftone-vectors/1",\n"topic": "operations",\n"source": "PyTorch {version} on a CPU",\n'
            f'"differences": {{\n{rows}\n}},\n"vectors": [\n{lines}\n]\n}}\n')


def text_of_file(name, why):
    cases = [given for given in ALL if file_of(given) == name]
    named = {given["differs"] for given in cases} - {None}
    return text_of([vector(given) for given in cases], {row: why[row] for row in why if row in named})


def main():
    torch.set_num_threads(1)
    why = reasons()
    named = {given["differs"] for given in ALL} - {None}
    assert named <= why.keys(), named - why.keys()
    names = [given["name"] for given in ALL]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    status = 0
    for name in FILES:
        file, text = FOLDER / name, text_of_file(name, why)
        if sys.argv[1:] != ["--check"]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{name} differs from the results of PyTorch {torch.__version__}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
