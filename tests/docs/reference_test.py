#!/usr/bin/python3
"""The reference of the C and C++ headers is written without a warning, and anything that has no comment is reported."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "tools/make_reference.py"


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def make(self, root: Path) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, TOOL, self.root / "pages", "--root", root], capture_output=True, text=True)

    def test_it_is_written_without_a_warning(self):
        done = self.make(REPOSITORY)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, f"{self.root}/pages/html/index.html\n")
        page = (self.root / "pages/html/tensor_8h.html").read_text(encoding="utf-8")
        self.assertIn("htone_tensor_create_full", page)
        self.assertTrue((self.root / "pages/html/classhtone_1_1Tensor.html").is_file())
        self.assertIn("HTONE_OK, or on failure HTONE_ERROR_ followed by one of", page)

    def test_anything_without_a_comment_is_reported(self):
        headers = self.root / "capi/include/halftone"
        headers.mkdir(parents=True)
        header = (REPOSITORY / "capi/include/halftone/dtype.h").read_text(encoding="utf-8")
        shutil.copy(REPOSITORY / "capi/include/halftone/base.h", headers)
        for comment, expected in ((" * @param[in] dtype a dtype.\n", "parameter 'dtype'"),
                                  (" * @errors INVALID_ARGUMENT.\n", "htone_dtype_size"),
                                  ("/** Types of elements. */\n", "htone_dtype (enumeration)")):
            with self.subTest(comment=comment):
                self.assertIn(comment, header)
                (headers / "dtype.h").write_text(header.replace(comment, "", 1), encoding="utf-8")
                done = self.make(self.root)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(expected, done.stdout)

    def test_a_structure_member_without_a_comment_is_reported(self):
        headers = self.root / "capi/include/halftone"
        headers.mkdir(parents=True)
        (headers / "planted.h").write_text("/** @file\n * Planted.\n */\n/** Planted. */\nstruct planted {\n  int member;\n"
                                           "};\n", encoding="utf-8")
        self.assertIn("member (variable) of struct planted is not documented", self.make(self.root).stdout)


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("skipped: doxygen is not installed")
        sys.exit(77)
    unittest.main()
