#!/usr/bin/env python3
"""The sample that computes its own gradients: steps that overflow are skipped and reported, and it still learns."""

import re
import subprocess
import unittest

import sample_run

SKIP = re.compile(r"step (\d+) skipped: the gradient of (weight|bias) has an infinity; "
                  r"the scale falls from (\d+) to (\d+)")


class OwnGradientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = subprocess.run([sample_run.program], capture_output=True, text=True, timeout=60)
        cls.lines = cls.result.stdout.splitlines()

    def test_it_ends_well_and_leaves_no_handle(self):
        self.assertEqual((self.result.returncode, self.result.stderr), (0, ""))

    def test_the_first_step_overflows_and_every_overflow_halves_the_scale(self):
        skips = [SKIP.fullmatch(line) for line in self.lines[:-1]]
        self.assertTrue(skips and all(skips), self.lines)
        steps = [int(skip[1]) for skip in skips]
        self.assertEqual((steps[0], steps), (1, sorted(set(steps))))
        scale = 65536
        for skip in skips:
            self.assertEqual((int(skip[3]), int(skip[4])), (scale, scale // 2))
            scale //= 2

    def test_the_model_is_learnt(self):
        accuracy = re.fullmatch(r"accuracy (0\.\d{4}|1\.0000)", self.lines[-1])
        self.assertIsNotNone(accuracy, self.lines)
        self.assertGreaterEqual(float(accuracy[1]), 0.97)


if __name__ == "__main__":
    sample_run.main()
