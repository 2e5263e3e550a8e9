#!/usr/bin/python3
"""Tests that a configuration without a library names the library and the package of Debian that has it.

    missing_packages_test.py CMAKE
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# An argument that hides a library from CMake, and the package that the message must name.
MISSING = {
    "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON": "pkg-config",
    "-DXXHASH_INCLUDE_DIR=OFF": "libxxhash-dev",
    "-DHALFTONE_PYTHON=OFF": "python3",
    "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON": "libgtest-dev",
}

cmake = "cmake"


class MissingPackages(unittest.TestCase):
    def configure(self, *arguments, **environment):
        with tempfile.TemporaryDirectory() as folder:
            command = [cmake, "-S", REPOSITORY, "-B", folder, *arguments]
            return subprocess.run(command, capture_output=True, text=True, **environment)

    def assert_names(self, package, done):
        self.assertNotEqual(done.returncode, 0)
        message = " ".join(done.stderr.split())
        self.assertRegex(message, rf"halftone: .* is missing \(Debian: {package}\)")

    def test_the_package_of_what_is_missing_is_named(self):
        for argument, package in MISSING.items():
            with self.subTest(package):
                self.assert_names(package, self.configure(argument))

    def test_so_are_those_that_pkg_config_finds(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.configure(env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_LIBDIR": empty})
        self.assert_names("libhwy-dev", done)


if __name__ == "__main__":
    cmake = sys.argv.pop(1)
    unittest.main()
