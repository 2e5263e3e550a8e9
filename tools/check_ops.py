#!/usr/bin/python3
"""Checks that every operation is public: each row of impl/ops/op.cpp is a function htone_<name> whose comment names the
autocast class of the row and that a test in C calls, and stands in the table of tests/capi/amp_test.c. That each has
cases of every size and a gradient, or a reason for none, is held by tests/ops/op_list_test.cpp, which can run them.
Prints each fault; exits with 1 where there is one.
"""
import argparse
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
ROW = re.compile(r'\{Op::k\w+, "(\w+)", AutocastClass::k(\w+)(, Computes::kNo)?\}')
# A row of the test's table: its class, and whether it is fixed.
TEST_ROW = re.compile(r'\{"(\w+)", HTONE_AUTOCAST_(\w+), ([01])\}')
# What the comment of a function says after "Autocast:", by the class of its row.
CLASSES = {"Low": "low precision", "Fp32": "FP32", "Widest": "widest", "AsIs": "as is"}
# The same as the C API's constants end.
TEST_CLASSES = {"Low": "LOW", "Fp32": "FP32", "Widest": "WIDEST", "AsIs": "AS_IS"}


def rows(root: Path) -> list[tuple[str, str, bool]]:
    """(name, autocast class, whether that is fixed) of every operation."""
    text = (root / "impl/ops/op.cpp").read_text(encoding="utf-8")
    return [(match[1], match[2], bool(match[3])) for match in ROW.finditer(text)]


def tested_rows(root: Path) -> dict[str, tuple[str, bool]]:
    text = (root / "tests/capi/amp_test.c").read_text(encoding="utf-8")
    return {match[1]: (match[2], match[3] == "1") for match in TEST_ROW.finditer(text)}


def joined(root: Path, folder: str, pattern: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / folder).glob(pattern)))


def comment_of(headers: str, name: str) -> str | None:
    """The comment right before the declaration of htone_<name>; None where there is no declaration."""
    declaration = re.search(rf"\bhtone_{name}\(", headers)
    if declaration is None:
        return None
    return headers[headers.rfind("/*", 0, declaration.start()):declaration.start()]


def documentation_fault(headers: str, name: str, autocast: str) -> str | None:
    comment = comment_of(headers, name)
    if comment is None:
        return f"no public header declares htone_{name}"
    if not re.search(rf"\* Autocast: {CLASSES[autocast]}\b", comment):
        return f'the comment of htone_{name} lacks "Autocast: {CLASSES[autocast]}", which is its row'
    return None


def faults(root: Path) -> list[str]:
    headers = joined(root, "capi/include/halftone", "*.h")
    tests = joined(root, "tests/capi", "*_test.c")
    table = tested_rows(root)
    found = []
    for name, autocast, is_fixed in rows(root):
        fault = documentation_fault(headers, name, autocast)
        if fault:
            found.append(f"{name}: {fault}")
        if table.get(name) != (TEST_CLASSES[autocast], is_fixed):
            found.append(f"{name}: the table of tests/capi/amp_test.c lacks it or tells another class")
        if not re.search(rf"\bhtone_{name}\b", tests):
            found.append(f"{name}: no test in tests/capi calls it")
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root.resolve()
    found, count = faults(root), len(rows(root))
    print("\n".join(found + [f"{count} operations, {len(found)} faults"]))
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
