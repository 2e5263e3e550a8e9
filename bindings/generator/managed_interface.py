#!/usr/bin/python3
"""Writes what SWIG and the compilers of Java and C# read, from the description of the C API (tools/describe_api.py).

  bindings/generator/managed_interface.py api.json FOLDER

halftone_managed.i       the flat functions for SWIG
java_arguments.i         the names of arguments in Java; csharp_arguments.i in C#
java/org/halftone/       the Java classes
managed_reached.json     the name by which each C function is reached, and for the others why there is none
"""
import argparse
import json
import sys
from pathlib import Path

import argument_names
import csharp_classes
import flat_interface
import java_classes
import java_names
from description import Api
from managed import Managed
from words import camel


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("description", type=Path)
    arguments.add_argument("folder", type=Path)
    options = arguments.parse_args()
    managed = Managed(Api(options.description))
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "halftone_managed.i").write_text(flat_interface.text(managed), encoding="utf-8")
    for language, identifier in (("java", java_names.identifier), ("csharp", camel)):
        (options.folder / f"{language}_arguments.i").write_text(argument_names.text(managed, identifier),
                                                                encoding="utf-8")
    java_classes.write(managed, options.folder / "java/org/halftone")
    csharp_classes.write(managed, options.folder / "csharp/Halftone.cs")
    reached = {"reached": managed.reached, "left_out": managed.left_out}
    (options.folder / "managed_reached.json").write_text(json.dumps(reached, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
