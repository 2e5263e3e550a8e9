#!/usr/bin/python3
"""Compiles every public header alone, strictly, as C99, C11 and C++20, with gcc and with clang where they are installed;
those of C++ (*.hpp) as C++17 and C++20. Checks two rules of names: no two differ by case alone, which some languages do
not see; and a function is HTONE_EXPORT, whose result may be ignored, only if it cleans up, sets defaults or names
something.

  tools/check_headers.py build/release/generated/include    # where the build has put version.h
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from public_headers import REPOSITORY

MODES = (("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++20"),
         ("clang", "c", "c99"), ("clang", "c", "c11"), ("clang++", "c++", "c++20"))
CPP_MODES = tuple((compiler, "c++", standard) for compiler in ("g++", "clang++") for standard in ("c++17", "c++20"))
STRICT = ("-pedantic-errors", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror", "-fsyntax-only")

FUNCTION = re.compile(r"^HTONE_(API|EXPORT) (?:const )?\w+\*? (htone_\w+)\(", re.M)
TYPE = re.compile(r"^typedef .*?\b(htone_\w+);$", re.M)
# A value in braces is no constant for another language.
CONSTANT = re.compile(r"^(?:#define (HTONE_\w+) +[^\s{\\]|  (HTONE_\w+) =)", re.M)
IGNORABLE = re.compile(r"htone_(\w+_(release|release_cached|init)|scope_end|scope_end_later|hook_remove|group_abort"
                       r"|error_last|log_set_callback|status_name|dtype_name|version|version_string)")


def names_by_case(texts: list[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in texts:
        constants = {first or second for first, second in CONSTANT.findall(text)}
        for name in constants | set(TYPE.findall(text)) | {name for _, name in FUNCTION.findall(text)}:
            found.setdefault(name.lower(), set()).add(name)
    return found


def name_faults(texts: list[str]) -> list[str]:
    faults = [f"{' and '.join(sorted(names))} differ by case alone" for names in names_by_case(texts).values()
              if len(names) > 1]
    for kind, name in (match for text in texts for match in FUNCTION.findall(text)):
        expected = "EXPORT" if IGNORABLE.fullmatch(name) else "API"
        if kind != expected:
            faults.append(f"{name} is HTONE_{kind}, not HTONE_{expected}")
    return faults


def strict_flags(language: str) -> list[str]:
    return [flag for flag in STRICT if language == "c" or flag != "-Wstrict-prototypes"]


def compile_alone(mode: tuple[str, str, str], header: str, folders: list[Path]) -> str:
    """The errors of the compiler for a file that includes this header and nothing else."""
    compiler, language, standard = mode
    command = [compiler, f"-x{language}", f"-std={standard}", *strict_flags(language)]
    command += [f"-I{folder}" for folder in folders] + ["-"]
    source = f"#include <halftone/{header}>\nextern int a_file_must_not_be_empty;\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("generated", type=Path)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    options = arguments.parse_args()
    folders = [options.root / "capi/include", options.generated]
    headers, cpp_headers = (sorted(path.name for folder in folders for path in (folder / "halftone").glob(pattern))
                            for pattern in ("*.h", "*.hpp"))
    named = name_faults([path.read_text(encoding="utf-8")
                         for folder in folders for path in sorted((folder / "halftone").glob("*.h"))])
    print("\n".join(named), end="\n" if named else "")
    faults, compiled = len(named), 0
    for mode, names in [(mode, headers) for mode in MODES] + [(mode, cpp_headers) for mode in CPP_MODES]:
        if not shutil.which(mode[0]):
            print(f"skipped: {mode[0]} -std={mode[2]}: {mode[0]} is not installed")
            continue
        for header in names:
            compiled += 1
            complaint = compile_alone(mode, header, folders)
            if complaint:
                faults += 1
                print(f"{header}: {mode[0]} -std={mode[2]}:\n{complaint}")
    print(f"{len(headers + cpp_headers)} headers, {compiled} compilations, {faults} faults")
    return 1 if faults or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
