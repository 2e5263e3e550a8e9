#!/usr/bin/env python3
"""Rounds every number of f16 and of bf16 to each format that ml_dtypes has, and writes a hash of the results.

    make_formats.py            writes formats.json
    make_formats.py --check    exits with 1 if the file differs

It needs numpy and ml_dtypes, and never calls the library that the vectors test.
"""
import json
import pathlib
import sys

import ml_dtypes
import numpy

FILE = pathlib.Path(__file__).resolve().parent.parent / "formats.json"
FORMATS = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
           "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn}
QUIET_NAN = 0x7FC00000


def numbers_of(dtype):
    """All codes of 16 bits, in FP32."""
    return numpy.arange(2**16, dtype=numpy.uint16).view(dtype).astype(numpy.float32)


def rounded(numbers, dtype):
    """NaN stays NaN: e2m1 has no code for it, and ml_dtypes makes it a number."""
    with numpy.errstate(all="ignore"):
        results = numbers.astype(dtype).astype(numpy.float32)
    return numpy.where(numpy.isnan(numbers), numpy.float32("nan"), results)


def fnv1a(results):
    """FNV-1a in 64 bits over the FP32 patterns, of which every NaN counts as one."""
    words = numpy.where(numpy.isnan(results), numpy.uint32(QUIET_NAN), results.view(numpy.uint32))
    state = 0xCBF29CE484222325
    for word in words.tolist():
        for shift in (0, 8, 16, 24):
            state = ((state ^ (word >> shift & 0xFF)) * 0x100000001B3) % 2**64
    return state


def vectors():
    result = []
    for source in ("f16", "bf16"):
        for target, dtype in FORMATS.items():
            results = rounded(numbers_of(FORMATS[source]), dtype)
            result.append({"name": f"{source}-to-{target}", "from": source, "to": target, "overflow": "non_finite",
                           "expected": f"0x{fnv1a(results):016x}"})
    return result


def main():
    lines = ",\n".join("  " + json.dumps(vector) for vector in vectors())
    text = f'{{\n"format": "halftone-vectors/1",\n"topic": "formats",\n"vectors": [\n{lines}\n]\n}}\n'
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.exists() and FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
