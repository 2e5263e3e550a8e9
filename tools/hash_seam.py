#!/usr/bin/python3
"""Writes a header with the hash of the plugin seam: the text of every header in impl/backend, of the interfaces in
impl/comm that a plugin implements, and of each header of impl that these include. A plugin that was built from other text may disagree with the library about a struct's layout, an
enum's order or a virtual function's place, so the library refuses it.
"""
import argparse
import hashlib
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
COMM = ("group/process_group.h", "group/work.h", "store.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


def seam_headers(impl: Path) -> list[Path]:
    waiting, found = sorted((impl / "backend").rglob("*.h")) + [impl / "comm" / name for name in COMM], set()
    while waiting:
        header = waiting.pop()
        if header not in found and header.exists():
            found.add(header)
            waiting += [impl / target for target in INCLUDE.findall(header.read_text(encoding="utf-8"))]
    return sorted(found)


def seam_hash(impl: Path) -> str:
    digest = hashlib.sha256()
    for header in seam_headers(impl):
        for part in (header.relative_to(impl).as_posix().encode(), header.read_bytes()):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("output", type=Path, nargs="?", help="the header to write; without it, the hash is printed")
    arguments.add_argument("--impl", type=Path, default=REPOSITORY / "impl")
    arguments.add_argument("--list", action="store_true", help="print the seam's headers instead")
    options = arguments.parse_args()
    if options.list:
        print(";".join(map(str, seam_headers(options.impl))), end="")
    elif options.output is None:
        print(seam_hash(options.impl))
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text("// Written by tools/hash_seam.py.\n#pragma once\n\n"
                                  f'#define HALFTONE_SEAM_HASH "{seam_hash(options.impl)}"\n', encoding="utf-8")


if __name__ == "__main__":
    main()
