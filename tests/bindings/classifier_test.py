"""The sample of a language that uses a trainer computes what the C sample computes, and goes on from its checkpoints. Run
by CTest.

    classifier_test.py TRAIN_CLASSIFIER SOURCE COMMAND...

The C sample, the source of the language's sample, and its command.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PRECISIONS = ("fp32", "bf16", "fp16", "fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4")
c_sample = source = ""
program = []


class Classifier(unittest.TestCase):
    def train(self, sample, *arguments):
        """Returns the line that the sample prints."""
        done = subprocess.run([*sample, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_precision_has_the_loss_of_the_c_sample(self):
        losses = set()
        for precision in PRECISIONS:
            with self.subTest(precision):
                line = self.train(program, precision)
                self.assertEqual(line, self.train([c_sample], precision))
                self.assertRegex(line, r"^step 200: loss of other points 0\.\d{6}\n$")
                losses.add(line)
        self.assertGreaterEqual(len(losses), 6, "the precisions round in different ways")

    def test_it_reads_the_checkpoint_of_the_c_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            line = self.train([c_sample], "fp16", f"{folder}/run")
            self.assertEqual(self.train(program, "fp16", f"{folder}/run"), line)

    def test_it_is_short(self):
        self.assertLessEqual(len(Path(source).read_text(encoding="utf-8").splitlines()), 60)


if __name__ == "__main__":
    c_sample, source, *program = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
