"""The sample with a trainer: it learns in every precision, goes on from a checkpoint, and is short. Run by CTest.

    classifier_test.py TRAIN_CLASSIFIER
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "samples/c/train_classifier.c"
program = ""


class ClassifierTest(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)

    def loss(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(re.fullmatch(r"step 200: loss of other points (\d\.\d{6})\n", done.stdout)[1])

    def test_it_learns_in_every_precision(self):
        for precision in ("fp32", "bf16", "fp16", "fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4"):
            with self.subTest(precision):
                self.assertLess(self.loss(precision), 0.5, "four classes of chance have log 4 = 1.4")

    def test_a_run_that_is_over_is_not_trained_again(self):
        with tempfile.TemporaryDirectory() as folder:
            loss = self.loss("bf16", f"{folder}/run")
            self.assertEqual(self.loss("bf16", f"{folder}/run"), loss)
            names = sorted(path.name for path in Path(folder, "run").glob("step-*"))
            self.assertEqual(names, ["step-150", "step-200"])

    def test_an_unknown_precision_is_refused(self):
        done = self.run_program("fp12")
        self.assertEqual(done.returncode, 1)
        self.assertIn("options.precision=\"fp12\", expected fp32, bf16", done.stderr)

    def test_it_is_short(self):
        self.assertLessEqual(len(SOURCE.read_text(encoding="utf-8").splitlines()), 60)


if __name__ == "__main__":
    program = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
