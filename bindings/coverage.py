#!/usr/bin/python3
"""Prints how many functions of the C API each language reaches, and holds the bindings against bindings/exceptions.txt.

  PYTHONPATH=build/release/bindings/python bindings/coverage.py build/release/generated/api.json \
      --reached build/release/bindings/interface/reached.json

Python reaches a function if the name that the generator has recorded for it exists in the package. A function that it
does not reach has a line with the reason in exceptions.txt, and every line concerns such a function. Java and C# reach
the functions of swig/bound_functions.txt, which are those that their interface files call.
"""
import argparse
import fnmatch
import importlib
import json
import re
import sys
from functools import reduce
from pathlib import Path

BINDINGS = Path(__file__).resolve().parent
LINE = re.compile(r"(?P<languages>[\w, ]+): (?P<pattern>[\w*]+): (?P<reason>.+)")


def exceptions(language: str) -> dict[str, str]:
    lines = (BINDINGS / "exceptions.txt").read_text(encoding="utf-8").splitlines()
    matches = [LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
    return {match["pattern"]: match["reason"] for match in matches if language in match["languages"].split(", ")}


def exists(package, name: str) -> bool:
    try:
        reduce(getattr, name.split("."), package)
    except AttributeError:
        return False
    return True


def excused(name: str, patterns: dict[str, str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def python_faults(functions: set[str], reached: dict[str, str]) -> tuple[set[str], list[str]]:
    package, patterns = importlib.import_module("halftone"), exceptions("python")
    found = {name for name, path in reached.items() if exists(package, path)}
    left = functions - found
    faults = [f"{name}: {reached[name]} is not in the package" for name in sorted(set(reached) - found)]
    faults += [f"{name}: Python does not reach it, and exceptions.txt has no reason"
               for name in sorted(left) if not excused(name, patterns)]
    faults += [f"{pattern}: in exceptions.txt, but Python reaches every such function"
               for pattern in patterns if not fnmatch.filter(left, pattern)]
    return found, faults


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def called(functions: set[str]) -> set[str]:
    """The functions that the handwritten interface files of Java and C# call."""
    swig = BINDINGS / "swig"
    paths = [*swig.glob("*.i"), swig / "status.h", *swig.glob("java/*.i"), *swig.glob("csharp/*.i")]
    text = "\n".join(without_comments(path.read_text(encoding="utf-8")) for path in paths)
    return set(re.findall(r"\b(htone_\w+)\s*\(", text)) & functions


def listed_faults(functions: set[str]) -> tuple[set[str], list[str]]:
    lines = (BINDINGS / "swig/bound_functions.txt").read_text(encoding="utf-8").splitlines()
    listed, calls = {line for line in lines if line and not line.startswith("#")}, called(functions)
    return listed, ([f"{name}: listed, but not called" for name in sorted(listed - calls)]
                    + [f"{name}: called, but not listed" for name in sorted(calls - listed)])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("description", type=Path)
    arguments.add_argument("--reached", type=Path, help="what the generator has recorded for Python")
    options = arguments.parse_args()
    description = json.loads(options.description.read_text(encoding="utf-8"))
    functions = {function["name"] for function in description["functions"]}
    listed, faults = listed_faults(functions)
    counts = {"Java": len(listed), "C#": len(listed)}
    if options.reached:
        reached = json.loads(options.reached.read_text(encoding="utf-8"))["reached"]
        found, more = python_faults(functions, reached)
        counts, faults = {"Python": len(found), **counts}, faults + more
    print("\n".join(faults + [f"{name}: {count} of {len(functions)} functions" for name, count in counts.items()]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
