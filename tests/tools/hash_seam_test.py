"""The build id's hash changes with every edit of the seam that would break a plugin, and with no other."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class HashSeam(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.impl = Path(folder.name) / "impl"
        shutil.copytree(REPOSITORY / "impl", self.impl)
        self.before = self.hash()

    def hash(self) -> str:
        command = [sys.executable, REPOSITORY / "tools/hash_seam.py", "--impl", self.impl]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.impl / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        (self.impl / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    def test_it_has_the_length_of_sha_256_and_stays_the_same(self):
        self.assertRegex(self.before, r"^[0-9a-f]{64}\n$")
        self.assertEqual(self.hash(), self.before)

    # A13: edits that a hash of the structs' sizes did not see.
    def test_two_values_of_an_enum_that_change_places_change_it(self):
        self.edit("backend/kernels/elementwise.h", "kExp,", "kPlanted,")
        self.edit("backend/kernels/elementwise.h", "kLog,", "kExp,")
        self.edit("backend/kernels/elementwise.h", "kPlanted,", "kLog,")
        self.assertNotEqual(self.hash(), self.before)

    def test_a_new_virtual_function_changes_it(self):
        self.edit("backend/device.h", "virtual void destroy() noexcept = 0;",
                  "virtual void destroy() noexcept = 0;\n  virtual void planted() noexcept = 0;")
        self.assertNotEqual(self.hash(), self.before)

    def test_a_new_member_of_a_struct_changes_it(self):
        self.edit("backend/kernels/conv.h", "struct ConvArgs {", "struct ConvArgs {\n  int64_t planted;")
        self.assertNotEqual(self.hash(), self.before)

    def test_another_type_of_a_member_changes_it(self):
        self.edit("backend/kernels/norm.h", "double epsilon = 0.0;", "float epsilon = 0.0f;")
        self.assertNotEqual(self.hash(), self.before)

    def test_a_header_of_core_that_the_seam_includes_changes_it(self):
        self.edit("core/shape.h", "#pragma once", "#pragma once\n// planted")
        self.assertNotEqual(self.hash(), self.before)

    def test_a_new_function_of_a_process_group_changes_it(self):
        self.edit("comm/group/process_group.h", "virtual void destroy() noexcept = 0;",
                  "virtual void destroy() noexcept = 0;\n  virtual void planted() noexcept = 0;")
        self.assertNotEqual(self.hash(), self.before)

    def test_headers_above_the_seam_do_not_change_it(self):
        self.edit("tensor/tensor.h", "#pragma once", "#pragma once\n// planted")
        self.edit("cpu/device.h", "#pragma once", "#pragma once\n// planted")
        self.assertEqual(self.hash(), self.before)


if __name__ == "__main__":
    unittest.main()
