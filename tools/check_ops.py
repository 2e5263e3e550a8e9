#!/usr/bin/python3
"""Checks that every operation is called through the C interface: each row of impl/ops/dispatch/op.cpp is a function
htone_<name> that a test of tests/capi or the runner of tests/vectors calls. generate_api.py and
tests/capi/autograd/amp_test.c compare the rows with the documented autocast classes. tests/ops/op_list_test.cpp checks
that each has cases of every size and a gradient, or a reason for none. Prints each fault; exits with 1 where there is one.
"""
import argparse
import re
import sys
from pathlib import Path

from generate_api import OPERATION
from public_headers import REPOSITORY


def faults(root: Path, names: list[str]) -> list[str]:
    paths = [*(root / "tests/capi").glob("*/*_test.c"), *(root / "tests/vectors/runner").glob("*.cpp")]
    tests = "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))
    return [f"{name}: no test in C and no vector calls it" for name in names if not re.search(rf"\bhtone_{name}\b", tests)]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root.resolve()
    names = [name for name, _ in OPERATION.findall((root / "impl/ops/dispatch/op.cpp").read_text(encoding="utf-8"))]
    found = faults(root, names)
    print("\n".join(found + [f"{len(names)} operations, {len(found)} faults"]))
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
