#!/usr/bin/python3
"""Gives the functions of SWIG's module the signatures of their docstrings, for the stable ABI.

  bindings/python/plain_functions.py halftone.py

Without -fastproxy SWIG writes Python functions of *args and **kwargs, whose docstrings begin with the signature.
"""
import inspect
import re
import sys
from pathlib import Path

# A function with the signature in its docstring, and the call of the wrapped one.
FUNCTION = re.compile(
    r'def (?P<name>\w+)\((?P<is_method>self, )?\*args, \*\*kwargs\):\n'
    r'(?P<opening> *r"""\n) *\w+\((?P<signature>[^\n]*)\)\n *--\n\n?(?P<text>(?:(?!\n *def ).)*?)'
    r'(?P<call>_halftone\.(?!\w+_swiginit)\w+\()(?P<passes_self>self, )?\*args, \*\*kwargs\)', re.DOTALL)


def plain(match: re.Match) -> str:
    signature = match["signature"].replace("$self", "self")
    names = [name for name in inspect.signature(eval(f"lambda {signature}: 0")).parameters if name != "self"]
    if match["is_method"] and not signature.startswith("self"):
        signature = f"self, {signature}" if signature else "self"
    passed = ", ".join(["self"] * bool(match["passes_self"]) + names)
    return f'def {match["name"]}({signature}):\n{match["opening"]}{match["text"]}{match["call"]}{passed})'


def main(path: Path) -> None:
    path.write_text(FUNCTION.sub(plain, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
