#!/usr/bin/python3
"""Checks that every row of the fault catalogue, tests/faults.md, has tests: each test that a row names is there and
names the row, in its own name or in the comment right before it, and no row is missing or stands twice. Prints each
fault; exits with 1 where there is one.
"""
import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TABLE = "tests/faults.md"
# Rows that do not apply are told in the head of the table.
LEFT_OUT = {"A27", "H6", *(f"S{number}" for number in range(10, 13))}
ROWS = [f"{letter}{number}" for letter, last in (("A", 38), ("F", 30), ("S", 21), ("M", 12), ("N", 15), ("H", 15), ("D", 26))
        for number in range(1, last + 1) if f"{letter}{number}" not in LEFT_OUT]
# Rooms whose tests are not in tests/<room>.
FOLDERS = {"nccl": "cuda/nccl"}
# Tests of CTest whose sources are not <program>.c: what a name means.
SOURCES = {
    "capi.misuse_test": ["tests/capi/misuse/misuse_judge.c", "tests/capi/misuse/generate_misuse.py"],
    "capi.instruction_sets": ["tests/capi/base/instruction_sets_test.py"],
    "capi.loading": ["tests/capi/base/loading.c"],
    "exhaustive.kill_sample": ["tests/exhaustive/kill_exhaustive.cpp"],
    "bindings.java": ["tests/bindings/SmokeTest.java"],
}
GTEST = r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*{suite},\s*{name}\)"
FUNCTION = r"^ *(?:private static void |static void |void |def )\s*{name}\("
WRITTEN = r"^.*_{name}\("  # of the misuse test, whose functions are written by its generator


@dataclass(frozen=True)
class Row:
    name: str
    line: int
    tests: list[str]


def rows_of(text: str) -> list[Row]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\| ([A-Z]\d+) \|", line)
        if match:
            found.append(Row(match[1], number, re.findall(r"`([^`]+)`", line.split("|")[4])))
    return found


def place_of(root: Path, test: str) -> tuple[list[Path], str]:
    """(sources that may hold a test, the pattern of its first line; an empty one where the test is the whole file)."""
    program, _, function = test.partition("/")
    if program in SOURCES:
        patterns = [template.format(name=re.escape(function)) for template in (FUNCTION, WRITTEN)]
        return [root / path for path in SOURCES[program]], "|".join(patterns) if function else ""
    if function:
        room, _, name = program.partition(".")
        return sorted((root / "tests" / room).glob(f"**/{name}.c")), FUNCTION.format(name=re.escape(function))
    room, _, rest = test.partition(".")
    suite, _, name = rest.partition(".")
    return sorted((root / "tests" / FOLDERS.get(room, room)).glob("**/*.cpp")), GTEST.format(suite=re.escape(suite), name=re.escape(name))


def comment_before(lines: list[str], index: int) -> str:
    """The lines of comment right above a line, joined; those at its top for a whole file (index 0)."""
    is_comment = re.compile(r"\s*(//|/?\*|\*/|#(?!include|!)|\"\"\")")
    if index == 0:
        end = next((i for i, line in enumerate(lines) if not line.strip() or line.startswith("#include")), len(lines))
        return "\n".join(lines[:end])
    begin = index
    while begin > 0 and is_comment.match(lines[begin - 1]):
        begin -= 1
    return "\n".join(lines[begin:index])


def names_row(text: str, row: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9])({row}|{row.lower()})(?![0-9a-z])", text) is not None


def fault_of(root: Path, row: Row, test: str) -> str | None:
    sources, pattern = place_of(root, test)
    for source in filter(Path.is_file, sources):
        text = source.read_text(encoding="utf-8")
        match = re.search(pattern, text, re.MULTILINE) if pattern else re.match("", text)
        if match is None:
            continue
        line = text.count("\n", 0, match.start())
        comment = comment_before(text.splitlines(), line)
        if names_row(test, row.name) or names_row(comment, row.name):
            return None
        return f"{test} in {source.relative_to(root)} names no {row.name}"
    return f"{test} is in no source"


def faults(root: Path, rows: list[Row]) -> list[str]:
    names = [row.name for row in rows]
    found = [f"row {name} is missing" for name in ROWS if name not in names]
    found += [f"row {name} is none that is expected" for name in names if name not in ROWS]
    found += [f"row {name} stands twice" for name in sorted(set(names)) if names.count(name) > 1]
    for row in rows:
        if not row.tests:
            found.append(f"line {row.line}: row {row.name} has no test")
        told = [fault_of(root, row, test) for test in row.tests]
        found += [f"line {row.line}: row {row.name}: {fault}" for fault in told if fault]
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root.resolve()
    rows = rows_of((root / TABLE).read_text(encoding="utf-8"))
    found = faults(root, rows)
    tests = {test for row in rows for test in row.tests}
    lines = [f"{TABLE}: {fault}" for fault in found]
    print("\n".join([*lines, f"{len(rows)} rows, {len(tests)} tests, {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
