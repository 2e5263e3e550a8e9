#!/usr/bin/env python3
"""Compares the differences that the files of PyTorch's results name with the rows of docs/pytorch.md. Prints the rows
that no case shows although the runner can call their operations. The exit status is 1 if they do not agree.
"""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
FILES = ("operations.json", "transformers.json")
DOCUMENT = FOLDER.parents[2] / "docs" / "pytorch.md"
# Rows that no case of a single call can show, with the reason.
WITHOUT_CASE = {
    "gather, scatter_add, index_select, embedding on GPUs": "needs a GPU",
    "embedding's max_norm, scale_grad_by_freq, sparse": "options that are not there",
    "dropout": "random",
    "randperm": "random",
    "rand, randn": "random",
    "clone": "strides are not compared",
    "scaled_dot_product_attention of a query that sees no key": "on a CPU PyTorch 2.15.0 returns the same",
    "roll without dimensions": "an argument that is not there",
    "max_dim, min_dim, argmax, argmin of equal elements": "on a CPU PyTorch returns the same",
    "sort, argsort": "every case asks for a stable order",
    "topk of equal elements": "either result is right",
    "topk that does not sort": "either result is right",
    "kthvalue, median of equal elements": "either result is right",
    "multinomial": "random",
    "instance_norm, running statistics": "options that are not there",
    "instance_norm layers": "of layers",
    "interpolate": "options that are not there",
    "amax, amin, max_dim, min_dim of -0 and 0": "either result is right",
    "arange without a dtype": "an argument that is not there",
    "max_pool, adaptive_max_pool with return_indices": "an option that is not there",
    "rms_norm without epsilon": "an argument that is not there",
    "mean, var, std, batch_norm under autocast": "no case runs under autocast",
    "step of an optimizer on an infinite weight": "of optimizers",
    "momentum None of batch norm layers": "of layers",
    "load_state_dict of a float into an integer buffer, or the reverse": "of layers",
    "load_state_dict that fails": "of layers",
    "load_state_dict of a tied weight": "of layers",
    "load_state_dict: missing and unexpected names": "of layers",
}


def reasons():
    """Maps the operation in each row of the document's first table to the reason."""
    table = DOCUMENT.read_text(encoding="utf-8").split("|---|---|---|---|\n")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| (.+?) \| .+? \| .+? \| (.+?) \|$", table, re.M))


def faults():
    rows, shown = reasons(), set()
    for name in FILES:
        file = json.loads((FOLDER.parent / name).read_text(encoding="utf-8"))
        used = {vector["differs"] for vector in file["vectors"] if "differs" in vector}
        for row in sorted(used ^ file["differences"].keys()):
            yield f"the differences of {name} and its vectors disagree about {row!r}"
        for row, why in file["differences"].items():
            if rows.get(row) != why:
                yield f"{DOCUMENT.name} does not say {why!r} of {row!r}"
        shown |= used
    for row in sorted(rows.keys() - shown - WITHOUT_CASE.keys()):
        yield f"no case shows {row!r}"
    for row in sorted(shown & WITHOUT_CASE.keys()):
        yield f"a case shows {row!r}, which is listed as one without a case"
    for row in sorted(WITHOUT_CASE.keys() - rows.keys()):
        yield f"{DOCUMENT.name} has no row {row!r}"


def main():
    found = list(faults())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
