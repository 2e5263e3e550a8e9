#!/usr/bin/python3
"""Tests what tests/gpu/run records."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import write_results

RECORDS = """test ops passed 12
test memcheck failed 3
matmul_bf16 700.5 TFLOP/s 720.25
some other line of a program
"""


class TheRecords(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(write_results.HERE / "README.md", self.folder)
        (self.folder / "records").write_text(RECORDS, encoding="utf-8")

    def write(self):
        arguments = ["write_results.py", str(self.folder / "records"), "NVIDIA H100 80GB HBM3, 580.1"]
        with mock.patch.object(write_results, "HERE", self.folder), mock.patch("sys.argv", arguments):
            write_results.main()

    def test_become_a_file_for_the_device_and_the_day(self):
        self.write()
        [path] = (self.folder / "results").iterdir()
        self.assertRegex(path.name, r"^nvidia-h100-80gb-hbm3-\d{4}-\d\d-\d\d\.json$")
        results = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(results["tests"]["memcheck"], {"state": "failed", "seconds": 3})
        self.assertEqual(results["figures"],
                         [{"name": "matmul_bf16", "value": 700.5, "unit": "TFLOP/s", "reference": "720.25"}])

    def test_become_rows_behind_those_of_earlier_runs(self):
        self.write()
        self.write()
        text = (self.folder / "README.md").read_text(encoding="utf-8")
        self.assertEqual(text.count("| matmul_bf16 | 700.5 TFLOP/s | 720.25 |"), 2)
        self.assertEqual(text.count("| tests | ops passed, memcheck failed | |"), 2)


if __name__ == "__main__":
    unittest.main()
