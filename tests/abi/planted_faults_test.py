#!/usr/bin/python3
"""Each assertion about public structures fails where a fault is planted in a copy of the headers.

    planted_faults_test.py INCLUDE-DIRECTORY     where the build has put version.h
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

generated = ""


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ("capi/include", "cmake", "impl/ops"):
            shutil.copytree(REPOSITORY / path, self.root / path)

    def generate(self):
        command = [sys.executable, "-B", REPOSITORY / "tools/generate_api.py", self.root / "out", "--root", self.root]
        return subprocess.run(command, capture_output=True, text=True)

    def compile(self, compiler, standard, language):
        includes = ["-I", self.root / "capi/include", "-I", generated]
        command = [compiler, f"-std={standard}", "-fsyntax-only", *includes, "-x", language,
                   self.root / "out/struct_layouts.h"]
        return subprocess.run(command, capture_output=True, text=True)

    def plant(self, old, new):
        path = self.root / "capi/include/halftone/ema.h"
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def assert_refused(self, message):
        done = self.generate()
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)

    def test_the_headers_as_they_are_pass(self):
        self.assertEqual(self.generate().returncode, 0)
        for arguments in (("cc", "c11", "c"), ("c++", "c++20", "c++")):
            self.assertEqual(self.compile(*arguments).returncode, 0)

    def test_padding_is_found_in_both_languages(self):
        self.plant("  double decay;", "  int32_t planted;\n  double decay;")
        self.assertEqual(self.generate().returncode, 0)
        for arguments in (("cc", "c11", "c"), ("c++", "c++20", "c++")):
            self.assertIn("htone_ema_options", self.compile(*arguments).stderr)

    def test_a_type_without_a_fixed_size_is_found(self):
        self.plant("  double decay;", "  long decay;")
        self.assert_refused("htone_ema_options.decay: long is no type of fixed size")

    def test_options_that_do_not_begin_with_their_size_are_found(self):
        self.plant("  uint32_t struct_size;", "  uint32_t flags;")
        self.assert_refused("htone_ema_options: an options structure begins with uint32_t struct_size")

    def test_an_operation_without_a_documented_class_is_found(self):
        path = self.root / "capi/include/halftone/arithmetic.h"
        path.write_text(path.read_text(encoding="utf-8").replace(" * @autocast ", " * ", 1), encoding="utf-8")
        self.assert_refused("has no line")


if __name__ == "__main__":
    generated = sys.argv.pop(1)
    unittest.main()
