"""The wheel for the stable ABI works with every CPython from 3.11 that is here. Run by CTest.

    stable_wheel_test.py CMAKE BUILD     installs SWIG and abi3audit into BUILD/swig-venv, from PyPI

The interpreters are those in PATH and pyenv's.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import venvs
from wheel_test import PROGRAM, run

OLDEST = 11
TESTS = ["smoke_test.py", "api_test.py", "callbacks_test.py", "custom_test.py", "lifetime_test.py",
         "sources_test.py"]
cmake, build, tools = "cmake", Path("build/release"), Path("bin")


def interpreters():
    """One for each version, oldest first."""
    names = ["/usr/bin/python3", *(f"python3.{minor}" for minor in range(OLDEST, 30)),
             *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))]
    found = {}
    for path in filter(None, map(shutil.which, names)):
        probe = subprocess.run([path, "-c", "import ensurepip, sys, venv; print(sys.version_info.minor)"],
                               capture_output=True, text=True)
        if probe.returncode == 0 and int(probe.stdout) >= OLDEST:
            found.setdefault(int(probe.stdout), path)
    return [found[minor] for minor in sorted(found)]


class StableWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        run(cmake, "--build", build, "--target", "halftone_stable_wheel")
        (cls.wheel,) = (build / "wheels").glob("halftone-*-abi3-*.whl")
        cls.environment = {key: value for key, value in os.environ.items()
                           if key not in ("PYTHONPATH", "LD_LIBRARY_PATH")}

    def test_is_for_3_11_and_later(self):
        self.assertIn(f"-cp3{OLDEST}-abi3-linux_", self.wheel.name)

    def test_uses_nothing_but_the_stable_abi(self):
        audit = subprocess.run([tools / "abi3audit", "-v", "--strict", self.wheel], capture_output=True, text=True)
        report = re.sub(r"\s+", " ", audit.stdout + audit.stderr)
        self.assertEqual(audit.returncode, 0, report)
        self.assertIn("0 ABI version mismatches and 0 ABI violations found", report)

    def test_passes_the_tests_with_every_version(self):
        for python in interpreters():
            with self.subTest(python):
                venv = self.folder / "venv"
                run(python, "-m", "venv", "--clear", venv)
                run(venv / "bin/python", "-m", "pip", "-q", "install", "--no-index", self.wheel)
                run(venv / "bin/python", "-I", "-c", PROGRAM, cwd=self.folder, env=self.environment)
                for test in TESTS:
                    run(venv / "bin/python", "-B", "-W", "error::DeprecationWarning:halftone",
                        Path(__file__).parent / test, cwd=self.folder, env=self.environment)
                print("passed with", run(venv / "bin/python", "--version").strip())


if __name__ == "__main__":
    build, cmake = Path(sys.argv.pop()), sys.argv.pop()
    tools = venvs.install(build / "swig-venv", ["swig==4.4.1", "abi3audit==0.0.26"],
                          "import abi3audit, swig").parent
    unittest.main()
