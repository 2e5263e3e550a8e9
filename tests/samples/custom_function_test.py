#!/usr/bin/env python3
"""The sample with a custom activation: its gradient agrees with finite differences, and it learns."""

import re
import subprocess
import unittest

import sample_run


class CustomFunctionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = subprocess.run([sample_run.program], capture_output=True, text=True, timeout=60)
        cls.lines = cls.result.stdout.splitlines()

    def test_it_ends_well_and_leaves_no_handle(self):
        self.assertEqual((self.result.returncode, self.result.stderr, len(self.lines)), (0, "", 2))

    def test_the_gradient_fits_finite_differences(self):
        worst = re.fullmatch(r"gradient differs from finite differences by (\S+) at most", self.lines[0])
        self.assertIsNotNone(worst, self.lines)
        self.assertLess(float(worst[1]), 1e-6)

    def test_the_circle_is_learnt(self):
        accuracy = re.fullmatch(r"accuracy (0\.\d{4}|1\.0000)", self.lines[1])
        self.assertIsNotNone(accuracy, self.lines)
        self.assertGreaterEqual(float(accuracy[1]), 0.97)


if __name__ == "__main__":
    sample_run.main()
