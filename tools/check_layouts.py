#!/usr/bin/python3
"""Checks that tests/abi/struct_layouts.c pins every member of every structure that the public headers define.

  tools/check_layouts.py
  tools/check_layouts.py --write INCLUDE-DIR...     writes the file from what the compiler says of the headers there

The compiler checks the numbers. Before a release the file may be written anew; after it, lines are only added, and the
size of an options structure grows. Of these structures the types of members are pinned as well, since the suppression
that lets one grow makes abidiff pass over a member that changed its type and kept its size.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from public_headers import REPOSITORY, header_paths

LAYOUTS = REPOSITORY / "tests/abi/struct_layouts.c"
STRUCTURE = re.compile(r"^(?:typedef )?struct (\w+) \{(.*?)^\}", re.S | re.M)
FUNCTION_POINTER = re.compile(r"\(\*(\w+)\)\(")
MEMBER = re.compile(r"(.*?)(\w+)((?:\[\w+\])*)$", re.S)
HEAD = """/* Where each member of a public structure stands, on a 64-bit host. A program that was built before has these numbers
 * compiled in: a member is appended to an options structure, and nothing else ever changes. Written by
 * tools/check_layouts.py, which also tells what is missing here.
 */
#include <stddef.h>

#include "halftone/halftone.h"

#define MEMBER_IS(structure, member, type) _Generic(((structure*)0)->member, type : 1, default : 0)
"""


@dataclass
class Member:
    name: str
    type: str


def member_of(declaration: str) -> Member:
    pointer = FUNCTION_POINTER.search(declaration)
    if pointer:
        return Member(pointer[1], "")
    kind, name, extents = MEMBER.match(" ".join(declaration.split())).groups()
    return Member(name, kind.strip() + extents)


def structures(root: Path = REPOSITORY) -> dict[str, list[Member]]:
    found = {}
    for header in header_paths(root):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        for name, body in STRUCTURE.findall(text):
            found[name] = [member_of(declaration) for declaration in body.split(";")[:-1]]
    return found


def conditions(root: Path = REPOSITORY) -> list[tuple[str, str, str]]:
    """What is pinned: the structure, and an expression with the comparison where the compiler gives a number."""
    listed = []
    for structure, members in sorted(structures(root).items()):
        is_options = structure.endswith("_options")
        for member in members:
            listed.append((structure, f"offsetof({structure}, {member.name})", "=="))
            if is_options:
                listed.append((structure, f"MEMBER_IS({structure}, {member.name}, {member.type})", ""))
        listed.append((structure, f"sizeof({structure})", ">=" if is_options else "=="))
    return listed


def write(include_directories: list[str]) -> None:
    """The numbers are the compiler's own: a program prints them."""
    listed = conditions()
    prints = "".join(f'  printf("%zu\\n", (size_t){expression});\n' for _, expression, _ in listed)
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "sizes.c"), Path(folder, "sizes")
        source.write_text(f"#include <stdio.h>\n{HEAD}int main(void) {{\n{prints}  return 0;\n}}\n", encoding="utf-8")
        includes = [f"-I{directory}" for directory in include_directories]
        subprocess.run(["cc", *includes, str(source), "-o", str(program)], check=True)
        numbers = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    lines, last = [], ""
    for (structure, expression, comparison), number in zip(listed, numbers):
        lines += [""] if structure != last else []
        pinned = f"{expression} {comparison} {number}" if comparison else expression
        lines.append(f'_Static_assert({pinned}, "{structure}");')
        last = structure
    LAYOUTS.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def missing(root: Path) -> list[str]:
    text = LAYOUTS.read_text(encoding="utf-8")
    return [expression for _, expression, comparison in conditions(root)
            if f"_Static_assert({expression}{f' {comparison} ' if comparison else ','}" not in text]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--write", nargs="+", metavar="INCLUDE-DIR")
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    options = arguments.parse_args()
    if options.write:
        write(options.write)
    faults = [f"{LAYOUTS.name}: does not pin {expression}" for expression in missing(options.root)]
    print("\n".join(faults + [f"{LAYOUTS.name}: {len(structures(options.root))} structures, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
