#!/usr/bin/env python3
"""Computes the conformance vectors from their definitions and writes them, or compares them with the existing files.

    generate.py            writes every file
    generate.py --check    names each file that differs; the exit status is 1 if one does

It needs only Python's standard library and never calls the library that the vectors test.
"""
import json
import pathlib
import sys

from generator import casts, optimizers, scalers

FOLDER = pathlib.Path(__file__).resolve().parent
TOPICS = {"casts": casts, "scalers": scalers, "optimizers": optimizers}


def text_of(topic, vectors):
    """One line for each list of numbers or codes, so that changes are readable."""
    lines = []
    for vector in vectors:
        fields = ",\n".join(f"    {json.dumps(key)}: {lay_out(value)}" for key, value in vector.items())
        lines.append("  {\n" + fields + "\n  }")
    return (f'{{\n"format": "halftone-vectors/1",\n"topic": "{topic}",\n"vectors": [\n' + ",\n".join(lines) + "\n]\n}\n")


def lay_out(value):
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return "[\n" + ",\n".join("      " + json.dumps(entry) for entry in value) + "\n    ]"
    return json.dumps(value)


def main():
    check = sys.argv[1:] == ["--check"]
    different = 0
    for topic, module in TOPICS.items():
        path, text = FOLDER / f"{topic}.json", text_of(topic, module.vectors())
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.name} is not what generate.py computes")
            different += 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
