#!/usr/bin/python3
"""Compares a library's binary interface with the baseline, and fails where a program built before would break.

  tools/check_abi.py LIBRARY [--baseline FILE]     LIBRARY has debug information; the answer is abidiff's
  tools/check_abi.py LIBRARY --write FILE          writes a baseline; tools/update_abi_baseline.sh

The interface is what the library exports and every type that leads there. New functions pass, and members appended to an
options structure.
"""
import argparse
import subprocess
import sys
from pathlib import Path

from public_headers import REPOSITORY

BASELINE = REPOSITORY / "tests/abi/libhalftone.abi"
SUPPRESSIONS = REPOSITORY / "tests/abi/suppressions.ini"
# Without it, types of the inside come along, a megabyte of them. Types are not chosen by --headers-dir: a baseline without
# places counts every type as private then, and abidiff passes over any change of it.
REACHABLE = "--exported-interfaces-only"


def write(library: Path, out: Path) -> None:
    """Without places in the source or on this machine, so that only the interface changes the file."""
    subprocess.run(["abidw", REACHABLE, "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--out-file", out,
                    library], check=True)


def differences(library: Path, baseline: Path) -> tuple[int, str]:
    done = subprocess.run(["abidiff", REACHABLE, "--no-added-syms", "--fail-no-debug-info", "--suppressions",
                           SUPPRESSIONS, baseline, library], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("library", type=Path)
    arguments.add_argument("--baseline", type=Path, default=BASELINE)
    arguments.add_argument("--write", type=Path, metavar="FILE")
    options = arguments.parse_args()
    if options.write:
        write(options.library, options.write)
        return 0
    outcome, report = differences(options.library, options.baseline)
    print(report.strip() or f"{options.library.name}: no difference to {options.baseline.name}")
    return outcome


if __name__ == "__main__":
    sys.exit(main())
