#!/usr/bin/python3
"""Writes capi/src/halftone.symbols anew from the public headers: one exported name a line, sorted.

The list is checked in, so that a change of the interface shows in review; check_symbols.py compares it with the library.
"""
import sys

from public_headers import REPOSITORY, all_functions

SYMBOLS = REPOSITORY / "capi/src/halftone.symbols"


def main() -> int:
    names = sorted(function.name for function in all_functions())
    SYMBOLS.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    print(f"{SYMBOLS.relative_to(REPOSITORY)}: {len(names)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
