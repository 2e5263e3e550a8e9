#!/usr/bin/python3
"""Checks that every public function has the comment that the rules of the C API ask for, and that headers stay short.

A comment has, in this order: a sentence; per parameter its direction and meaning; @autocast for an operation; @errors for
a function that returns a status, else @return; @since. Every enumerator has a comment behind it or above it. Prints each
fault with its place; exits with 1 where there is one.
"""
import argparse
import re
import sys
from pathlib import Path

from public_headers import REPOSITORY, Function, all_functions, handle_types, header_paths

MAX_LINES = 300
MAX_COLUMNS = 120
PARAMETER = re.compile(r"^@param\[(in|out|in,out)\] (\w+(?:,\w+)*) \S")
LABEL = re.compile(r"^@(autocast|errors|return|precision|source|since) (.*)")


def entries(function: Function) -> list[str]:
    """The comment's paragraphs after the sentence: an entry each, with its indented continuation lines."""
    lines = function.comment
    body = lines[lines.index("") + 1:] if "" in lines else []
    joined: list[str] = []
    for line in body:
        if line.startswith("  ") and joined:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
    return joined


def sentence_faults(function: Function) -> list[str]:
    if not function.comment:
        return ["has no comment"]
    sentence = " ".join(function.comment[: function.comment.index("")] if "" in function.comment else function.comment)
    return [] if re.match(r"^[A-Z].*\.$", sentence) else [f"does not begin with a sentence: {sentence!r}"]


def parameter_faults(function: Function) -> list[str]:
    results = {parameter.name for parameter in function.parameters
               if re.match(r"out(_|$)", parameter.name) and "*" in parameter.declaration}
    documented = []
    faults = []
    for match in filter(None, map(PARAMETER.match, entries(function))):
        for name in match[2].split(","):
            documented.append(name)
            if name in results and match[1] == "in":
                faults.append(f"calls the result {name} [in]")
    declared = [parameter.name for parameter in function.parameters]
    if documented != declared:
        faults.append(f"documents the parameters {documented}, declares {declared}")
    return faults


def label_faults(function: Function, statuses: set[str], handles: set[str]) -> list[str]:
    labels = {match[1]: match[2] for match in filter(None, map(LABEL.match, entries(function)))}
    answer = "errors" if function.result == "htone_status" else "return"
    faults = [f"has no @{label}" for label in (answer, "since") if label not in labels]
    if not re.fullmatch(r"\d+\.\d+", labels.get("since", "0.0")):
        faults.append(f"@since is no version: {labels['since']!r}")
    named = set(re.findall(r"\b[A-Z][A-Z_]{2,}\b", re.sub(r"\([^()]*\)", "", labels.get("errors", ""))))
    faults += [f"names the unknown status {status}" for status in sorted(named - statuses)]
    takes_handle = any(parameter.type().rstrip("*") in handles and not parameter.type().endswith("**")
                       for parameter in function.parameters)
    if takes_handle and "INVALID_HANDLE" not in named:
        faults.append("takes a handle, but INVALID_HANDLE is not among its errors")
    return faults


def unreadable_faults(function: Function) -> list[str]:
    return [f"has a line that is neither a parameter nor a known label: {entry!r}"
            for entry in entries(function) if not PARAMETER.match(entry) and not LABEL.match(entry)]


def enumerator_faults(header: Path) -> list[str]:
    """Enumerators without a comment. Doxygen, which checks all else that has no comment, does not report these."""
    lines = header.read_text(encoding="utf-8").splitlines()
    faults = []
    for number, line in enumerate(lines):
        match = re.match(r"  (HTONE_\w+) =", line)
        behind = re.match(r"[^,]*,?\s*/\*\*<", " ".join(lines[number:number + 2]))
        above = lines[number - 1].endswith("*/") and "/**<" not in lines[number - 1]
        if match and not behind and not above:
            faults.append(f"{header.name}:{number + 1}: {match[1]} has no comment")
    return faults


def size_faults(header: Path) -> list[str]:
    lines = header.read_text(encoding="utf-8").splitlines()
    faults = [f"{header.name}:{number}: longer than {MAX_COLUMNS} columns"
              for number, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS]
    return faults + ([f"{header.name}: longer than {MAX_LINES} lines"] if len(lines) > MAX_LINES else [])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root
    base = (root / "capi/include/halftone/base.h").read_text(encoding="utf-8")
    statuses = set(re.findall(r"^  HTONE_ERROR_(\w+) = \d+,", base, re.M))
    functions, handles = all_functions(root), handle_types(root)
    faults = [fault for header in header_paths(root) for fault in size_faults(header) + enumerator_faults(header)]
    for function in functions:
        found = sentence_faults(function) + parameter_faults(function) + unreadable_faults(function)
        faults += [f"{function.where()}: {fault}" for fault in found + label_faults(function, statuses, handles)]
    print("\n".join(faults + [f"{len(functions)} functions, {len(faults)} faults"]))
    return 1 if faults or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
