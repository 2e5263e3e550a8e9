#!/usr/bin/env python3
"""Checks that the safetensors package reads halftone's files and that halftone reads the package's, byte for byte in
every dtype.

    safetensors_test.py PROGRAM VENV     installs the package into VENV, from PyPI, if it is not there yet

Skipped, with the reason, if it cannot be installed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

VERSION = "0.8.0"
SKIPPED = 77
DTYPES = {  # the format's name: the package's name, and the bytes per element
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "F8_E4M3": ("float8_e4m3fn", 1), "F8_E5M2": ("float8_e5m2", 1), "I64": ("int64", 8), "I32": ("int32", 4),
    "I16": ("int16", 2), "I8": ("int8", 1), "U8": ("uint8", 1), "BOOL": ("bool", 1),
}  # fmt: skip


def install(folder):
    """Returns the venv's interpreter; ends the test if there is none."""
    interpreter = folder / "bin" / "python"
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(interpreter), "-m", "pip", "-q", "install", "--retries", "0", "--timeout", "20"]
        + [f"safetensors=={VERSION}", "numpy"],
    ]
    probe = [str(interpreter), "-c", "import numpy, safetensors"]
    if interpreter.exists() and subprocess.run(probe, capture_output=True).returncode == 0:
        return interpreter
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            # venv prints the missing packages on standard output, in several lines.
            reason = " ".join((done.stderr.strip().splitlines()[-1:] or done.stdout.split()))
            print("skipped: safetensors cannot be installed:", reason)
            sys.exit(SKIPPED)
    return interpreter


def expected_tensors():
    """Name, format's dtype, shape and bytes; must match safetensors_exchange.cpp."""
    described = [("scalar", "F32", []), ("empty", "F32", [0, 4])] + [(name, name, [2, 3]) for name in DTYPES]
    for name, dtype, shape in described:
        size = DTYPES[dtype][1]
        for extent in shape:
            size *= extent
        yield name, dtype, shape, bytes(i % 2 if dtype == "BOOL" else (37 * i + 11) % 256 for i in range(size))


def check_ours(program, path):
    from safetensors import deserialize, safe_open

    subprocess.run([program, "write", path], check=True)
    found = dict(deserialize(pathlib.Path(path).read_bytes()))
    expected = list(expected_tensors())
    assert found.keys() == {name for name, *_ in expected}, found.keys()
    for name, dtype, shape, data in expected:
        tensor = found[name]
        assert (tensor["dtype"], list(tensor["shape"])) == (dtype, shape), (name, tensor)
        assert bytes(tensor["data"]) == data, name
    with safe_open(path, framework="np") as file:
        assert file.metadata() == {"producer": "halftone"}, file.metadata()


def check_theirs(program, path):
    import ctypes

    from safetensors import TensorSpec, serialize

    kept, tensors = [], {}
    for name, dtype, shape, data in expected_tensors():
        kept.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        tensors[name] = TensorSpec(
            dtype=DTYPES[dtype][0], shape=shape, data_ptr=ctypes.addressof(kept[-1]), data_len=len(data)
        )
    pathlib.Path(path).write_bytes(serialize(tensors, {"producer": "safetensors"}))
    subprocess.run([program, "check", path], check=True)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if len(sys.argv) == 3:
        interpreter = install(folder)
        os.execv(interpreter, [str(interpreter), "-B", __file__, program, str(folder), "installed"])
    with tempfile.TemporaryDirectory() as scratch:
        check_ours(program, scratch + "/ours.safetensors")
        check_theirs(program, scratch + "/theirs.safetensors")
    print("every dtype, both ways")


main()
