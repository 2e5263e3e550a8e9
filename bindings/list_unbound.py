#!/usr/bin/env python3
"""Lists the C functions that no binding calls yet, one per line.

With --check it compares swig/bound_functions.txt with the headers and the interface files, prints each difference, and
fails if there is one: a header must declare every bound function, and the interface files must call exactly the bound
ones.
"""

import argparse
import re
import sys
from pathlib import Path

BINDINGS = Path(__file__).resolve().parent
HEADERS = BINDINGS.parent / "capi" / "include" / "halftone"


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def declared():
    """The functions that the headers export."""
    text = "\n".join(without_comments(path.read_text()) for path in sorted(HEADERS.glob("*.h")))
    return set(re.findall(r"HTONE_(?:API|EXPORT)\s[^;(]*?\b(htone_\w+)\s*\(", text))


def called(functions):
    """The exported functions that the interface files and status.h call."""
    paths = [path for path in (BINDINGS / "swig").rglob("*") if path.suffix in (".i", ".h")]
    text = "\n".join(without_comments(path.read_text()) for path in sorted(paths))
    return set(re.findall(r"\b(htone_\w+)\s*\(", text)) & functions


def listed():
    lines = (BINDINGS / "swig" / "bound_functions.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def disagreements(functions):
    bound = listed()
    calls = called(functions)
    yield from (f"{name}: listed twice" for name in sorted(set(bound)) if bound.count(name) > 1)
    yield from (f"{name}: listed, but no header declares it" for name in bound if name not in functions)
    yield from (f"{name}: listed, but no interface file calls it" for name in bound if name in functions - calls)
    yield from (f"{name}: called, but not listed" for name in sorted(calls - set(bound)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare list, headers and interface files")
    check = parser.parse_args().check
    functions = declared()
    if not functions:
        sys.exit(f"no function found in {HEADERS}")
    lines = list(disagreements(functions)) if check else sorted(functions - set(listed()))
    print("\n".join(lines) if lines else "nothing to tell")
    return 1 if check and lines else 0


if __name__ == "__main__":
    sys.exit(main())
