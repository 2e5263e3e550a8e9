#!/usr/bin/python3
"""Prints how many functions of the C API each language reaches, and holds the bindings against bindings/exceptions.txt.

  PYTHONPATH=build/release/bindings/python bindings/coverage.py build/release/generated/api.json \
      --reached build/release/bindings/interface/reached.json --java build/release/bindings/java/libhalftone_java.so

Python reaches a function if the name that the generator has recorded for it exists in the package. Java and C# reach the
functions that their wrapper library imports. A function that a language does not reach has a line with the reason in
exceptions.txt, and every line concerns such a function.
"""
import argparse
import fnmatch
import importlib
import json
import re
import subprocess
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


def faults_of(language: str, functions: set[str], found: set[str]) -> list[str]:
    patterns, left = exceptions(language), functions - found
    faults = [f"{name}: {language} does not reach it, and exceptions.txt has no reason"
              for name in sorted(left) if not excused(name, patterns)]
    return faults + [f"{pattern}: in exceptions.txt, but {language} reaches every such function"
                     for pattern in patterns if not fnmatch.filter(left, pattern)]


def found_in_python(reached: dict[str, str]) -> tuple[set[str], list[str]]:
    package = importlib.import_module("halftone")
    found = {name for name, path in reached.items() if exists(package, path)}
    return found, [f"{name}: {reached[name]} is not in the package" for name in sorted(set(reached) - found)]


def imported(library: Path) -> set[str]:
    lines = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\bhtone_\w+", lines))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("description", type=Path)
    arguments.add_argument("--reached", type=Path, help="what the generator has recorded for Python")
    arguments.add_argument("--java", type=Path, help="the wrapper library of Java")
    arguments.add_argument("--csharp", type=Path, help="the wrapper library of C#")
    options = arguments.parse_args()
    description = json.loads(options.description.read_text(encoding="utf-8"))
    functions = {function["name"] for function in description["functions"]}
    counts, faults = {}, []
    if options.reached:
        reached = json.loads(options.reached.read_text(encoding="utf-8"))["reached"]
        counts["python"], faults = found_in_python(reached)
    for language, library in (("java", options.java), ("csharp", options.csharp)):
        if library:
            counts[language] = imported(library) & functions
    for language, found in counts.items():
        faults += faults_of(language, functions, found)
    print("\n".join(faults + [f"{name}: {len(found)} of {len(functions)} functions" for name, found in counts.items()]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
