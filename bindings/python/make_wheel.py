#!/usr/bin/python3
"""Makes a wheel of the built Python package, with libhalftone and the plugins inside.

  bindings/python/make_wheel.py [--stable FOLDER] CMAKE BUILD VERSION OUTPUT FILE...

The files are libraries, and the program halftone-run.

setuptools packs it. The wheel is for the Python version whose headers were used, or, with the module for the stable ABI
in FOLDER (stable_abi.cmake), for CPython 3.11 and later.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = """\
[build-system]
requires = ["setuptools>=61", "wheel"]
build-backend = "setuptools.build_meta"

[project]
name = "halftone"
version = "{version}"
description = "Mixed-precision training of neural networks"
requires-python = "{python}"
readme = "README.md"
license = {{ text = "Apache-2.0" }}
authors = [{{ name = "halftone" }}]
classifiers = ["License :: OSI Approved :: Apache Software License", "Operating System :: POSIX :: Linux",
               "Programming Language :: C++", "Programming Language :: Python :: 3", "Typing :: Typed"]

[project.optional-dependencies]
numpy = ["numpy"]

[project.scripts]
halftone-run = "halftone.launch:main"

[tool.setuptools]
packages = ["halftone", "halftone.nn", "halftone.optim", "halftone.utils"]

[tool.setuptools.package-data]
"*" = ["*"]
"""
# Tells setuptools that the package has compiled code, which it does not build itself.
SETUP = """\
from setuptools import Distribution, setup
Distribution.has_ext_modules = lambda self: True
setup(options={options})
"""
STABLE = {"bdist_wheel": {"py_limited_api": "cp311"}}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_wheel.py: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def take_stable_module(package, folder):
    for module in package.glob("_halftone.*.so"):
        module.unlink()
    for name in ("_halftone.abi3.so", "halftone.py"):
        shutil.copy(Path(folder) / name, package)


def main(stable, cmake, build, version, output, *files):
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        run(cmake, "--install", build, "--component", "python", "--prefix", project / "prefix")
        shutil.move(next((project / "prefix").rglob("halftone")), project / "halftone")
        if stable:
            take_stable_module(project / "halftone", stable)
        for file in files:  # a link becomes a file with its name: the one that the extension asks for
            shutil.copy(file, project / "halftone")
        for name in ("LICENSE", "bindings/python/README.md"):
            shutil.copy(REPOSITORY / name, project)
        own = sys.version_info.minor
        text = PROJECT.format(version=version, python=">=3.11" if stable else f"==3.{own}.*")
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
        (project / "setup.py").write_text(SETUP.format(options=STABLE if stable else {}), encoding="utf-8")
        run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", output, project)


if __name__ == "__main__":
    is_stable = sys.argv[1:2] == ["--stable"]
    main(*(sys.argv[2:] if is_stable else [None, *sys.argv[1:]]))
