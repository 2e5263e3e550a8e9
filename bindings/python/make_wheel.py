#!/usr/bin/python3
"""Makes a wheel of the built Python package, with libhalftone and the plugins inside.

  bindings/python/make_wheel.py CMAKE BUILD VERSION OUTPUT LIBRARY...

setuptools packs it. The wheel is for the Python version whose headers were used: the code of SWIG 4.1 does not compile
against the stable ABI (bindings/README.md).
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = """\
[build-system]
requires = ["setuptools>=61", "wheel"]
build-backend = "setuptools.build_meta"

[project]
name = "halftone"
version = "{version}"
description = "Mixed-precision training of neural networks"
requires-python = ">=3.9"

[tool.setuptools]
packages = ["halftone"]

[tool.setuptools.package-data]
halftone = ["*"]
"""
# Tells setuptools that the package has compiled code, which it does not build itself.
SETUP = "from setuptools import Distribution, setup\nDistribution.has_ext_modules = lambda self: True\nsetup()\n"


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_wheel.py: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def main(cmake, build, version, output, *libraries):
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        run(cmake, "--install", build, "--component", "python", "--prefix", project / "prefix")
        shutil.move(next((project / "prefix").rglob("halftone")), project / "halftone")
        for library in libraries:  # a link becomes a file with its name: the one that the extension asks for
            shutil.copy(library, project / "halftone")
        (project / "pyproject.toml").write_text(PROJECT.format(version=version), encoding="utf-8")
        (project / "setup.py").write_text(SETUP, encoding="utf-8")
        run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", output, project)


if __name__ == "__main__":
    main(*sys.argv[1:])
