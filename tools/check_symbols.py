#!/usr/bin/python3
"""Checks what libhalftone.so exports, needs and refers to, and how large it is.

  tools/check_symbols.py build/release/capi/libhalftone.so

It must export the functions that the headers declare. A sanitizer's build refers to its own runtime and is larger: there,
--exports-only leaves the other checks out.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

from public_headers import REPOSITORY, all_functions

MAX_BYTES = 12_200_000
NEEDED = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libhwy.so.1", "ld-linux-x86-64.so.2"}
# Calls that end the process or change its signals. Where the library cannot go on, it returns a status. std::terminate is
# not listed: the compiler puts it behind every noexcept, and the guard catches before it is reached.
FORBIDDEN = {"abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert_perror_fail", "raise", "kill",
             "signal", "sigaction", "__sysv_signal", "_ZSt13set_terminatePFvvE", "_ZN3hwy5AbortEPKciS1_z"}


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library: Path, which: str) -> set[str]:
    """Names without their version: `abort@GLIBC_2.2.5` is abort."""
    lines = run("nm", "-D", which, str(library)).splitlines()
    return {re.split("@", line.split()[-1])[0] for line in lines}


def compare(what: str, actual: set[str], expected: set[str]) -> list[str]:
    return ([f"{what}: missing {name}" for name in sorted(expected - actual)]
            + [f"{what}: unexpected {name}" for name in sorted(actual - expected)])


def export_faults(library: Path, root: Path) -> list[str]:
    declared = {function.name for function in all_functions(root)}
    return compare("exports against the headers", symbols(library, "--defined-only"), declared)


def dependency_faults(library: Path) -> list[str]:
    dynamic = run("readelf", "--dynamic", "--wide", str(library))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    faults = [f"needs {name}" for name in sorted(needed - NEEDED)]
    faults += [f"has a search path: {path}" for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)]
    faults += [f"lacks the flag {flag}" for flag in ("NODELETE", "SYMBOLIC") if not re.search(rf"\b{flag}\b", dynamic)]
    forbidden = symbols(library, "--undefined-only") & FORBIDDEN
    faults += [f"refers to {name}, which a library must not call" for name in sorted(forbidden)]
    size = library.stat().st_size
    return faults + ([f"is {size} bytes, more than {MAX_BYTES}"] if size > MAX_BYTES else [])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("library", type=Path)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    arguments.add_argument("--exports-only", action="store_true")
    options = arguments.parse_args()
    faults = export_faults(options.library, options.root)
    if not options.exports_only:
        faults += dependency_faults(options.library)
    exported = len(symbols(options.library, "--defined-only"))
    size = options.library.stat().st_size
    print("\n".join(faults + [f"{options.library.name}: {exported} exports, {size} bytes, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
