#!/usr/bin/python3
"""Checks that messages name arguments as the headers do: in capi/src, guard("htone_x(a, b)", ...) lists the parameters of
htone_x in their order. Prints each fault; exits with 1 where there is one.
"""
import argparse
import re
import sys
from pathlib import Path

from public_headers import REPOSITORY, all_functions

GUARD = re.compile(r"\bguard\(\s*((?:\"[^\"]*\"\s*)+)")
# These report on errors or do nothing that can fail: a guard would overwrite what they answer.
UNGUARDED = {"htone_error_last", "htone_debug_live_handles"}


def guarded_signatures(root: Path) -> list[tuple[str, str]]:
    """(place, signature) of every guard; adjacent literals are joined as the compiler does."""
    found = []
    for source in sorted((root / "capi/src").glob("*.cpp")):
        text = source.read_text(encoding="utf-8")
        for match in GUARD.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((f"{source.name}:{line}", "".join(re.findall(r'"([^"]*)"', match[1]))))
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root
    declared = {function.name: function for function in all_functions(root)}
    faults, guarded = [], set()
    for place, signature in guarded_signatures(root):
        name = signature.split("(")[0]
        guarded.add(name)
        if name not in declared:
            faults.append(f"{place}: {name} is in no header")
        elif signature != declared[name].signature():
            faults.append(f"{place}: {signature} should be {declared[name].signature()}")
    faults += [f"{function.where()} answers a status and has no guard" for function in declared.values()
               if function.result == "htone_status" and function.name not in guarded | UNGUARDED]
    print("\n".join(faults + [f"{len(guarded)} guards, {len(faults)} faults"]))
    return 1 if faults or not guarded else 0


if __name__ == "__main__":
    sys.exit(main())
