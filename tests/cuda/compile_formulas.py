#!/usr/bin/python3
"""Compiles the formulas that backends share as CUDA code: with nvcc, and with Clang, which needs no CUDA toolkit for it.
Prints the reason for each compiler that is skipped. A copy without the annotation must be refused, so that the test can
fail.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
SOURCE = HERE / "formulas.cu"
CLANGS = ["clang++"] + [f"clang++-{version}" for version in range(20, 13, -1)]
CLANG_OPTIONS = ["-x", "cuda", "--cuda-device-only", "-nocudalib", "-nocudainc", "--cuda-gpu-arch=sm_70", "-fsyntax-only",
                 "-Wno-unknown-cuda-version", "-std=c++20", f"-I{HERE}"]
SKIPPED = 77


def nvcc_command() -> list[str] | None:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return [nvcc, "-std=c++20", "--expt-relaxed-constexpr", "--Werror", "cross-execution-space-call", "-cuda",
            "-o", "/dev/null"] if nvcc else None


def clang_command() -> list[str] | None:
    clang = next(filter(None, map(shutil.which, CLANGS)), None)
    return [clang, *CLANG_OPTIONS] if clang else None


def compiles(command: list[str], impl: Path) -> tuple[bool, str]:
    done = subprocess.run([*command, f"-I{impl}", str(SOURCE)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def expect_every_header() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    for header in sorted((REPOSITORY / "impl/backend/formula").glob("*.h")):
        if f'"backend/formula/{header.name}"' not in text:
            sys.exit(f"{SOURCE.name} does not include {header.name}")


def expect_refusal(command: list[str], name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        impl = Path(folder) / "impl"
        shutil.copytree(REPOSITORY / "impl", impl, ignore=lambda _, names: [n for n in names if n.endswith(".cpp")])
        header = impl / "backend/formula/sgd.h"
        header.write_text(re.sub(r"HALFTONE_HOST_DEVICE (inline void sgd_update)", r"\1",
                                 header.read_text(encoding="utf-8")), encoding="utf-8")
        if compiles(command, impl)[0]:
            sys.exit(f"{name} accepts a formula without the annotation")


def main() -> int:
    expect_every_header()
    ran = False
    for name, command in (("nvcc", nvcc_command()), ("clang", clang_command())):
        if command is None:
            print(f"skipped: {name} is not installed")
            continue
        accepted, output = compiles(command, REPOSITORY / "impl")
        if not accepted:
            sys.exit(f"{name} refuses the formulas:\n{output}")
        expect_refusal(command, name)
        print(f"{name} compiles the formulas")
        ran = True
    return 0 if ran else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
