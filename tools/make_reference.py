#!/usr/bin/python3
"""Writes the reference of the C and C++ interfaces as web pages, by Doxygen, from the comments of the public headers.

  tools/make_reference.py [FOLDER]     FOLDER/html/index.html; build/reference by default

Anything that is not documented, and any comment that Doxygen cannot read, is printed; then the exit status is 1.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from public_headers import REPOSITORY


def configuration(folder: Path) -> str:
    cmake = (REPOSITORY / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"project\(halftone VERSION ([0-9.]+)", cmake)[1]
    settings = (REPOSITORY / "docs/Doxyfile").read_text(encoding="utf-8")
    return f'{settings}\nPROJECT_NUMBER = {version}\nOUTPUT_DIRECTORY = "{folder.resolve()}"\n'


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path, nargs="?", default=REPOSITORY / "build/reference")
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    options = arguments.parse_args()
    if not shutil.which("doxygen"):
        print("skipped: doxygen is not installed")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["doxygen", "-"], input=configuration(options.folder), cwd=options.root, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    if done.returncode == 0:
        print(f"{options.folder}/html/index.html")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
