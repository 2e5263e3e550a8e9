"""The sample of a language trains as the C sample does, alone and with another process, and resumes. Run by CTest.

    sample_test.py TRAIN_GPT HALFTONE_RUN COMMAND...

The C sample, the launcher, and the command of the sample.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TEXT = "".join(f"the king of year {number} saw a small dog, and the dog saw the king. " for number in range(600))
c_sample = launcher = ""
program = []


class Sample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.text = self.folder / "text"
        self.text.write_text(TEXT, encoding="utf-8")

    def run_program(self, *command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8",
                              errors="replace", timeout=300)

    def train(self, sample, *flags, ranks=1):
        """Returns the validation loss after some steps."""
        leading = [launcher, "-n", ranks] if ranks > 1 else []
        done = self.run_program(*leading, *sample, "--text", self.text, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r"validation loss (\d\.\d{6})", done.stdout)[1]

    def test_it_computes_what_the_c_sample_computes(self):
        loss = self.train(program, "--steps", "30")
        self.assertEqual(loss, self.train([c_sample], "--steps", "30"))
        self.assertLess(float(loss), 4.5, "bytes of chance have log 256 = 5.5")

    def test_every_recipe_computes_what_it_does_in_c(self):
        in_bf16, losses = self.train([c_sample], "--steps", "10"), set()
        for precision in ("fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4"):
            with self.subTest(precision):
                loss = self.train(program, "--steps", "10", "--precision", precision)
                self.assertEqual(loss, self.train([c_sample], "--steps", "10", "--precision", precision))
                self.assertAlmostEqual(float(loss), float(in_bf16), delta=0.1)
                losses.add(loss)
        self.assertEqual(len(losses - {in_bf16}), 5, "each recipe rounds in its own way")

    def test_processes_share_weights_and_resume(self):
        kept = ["--checkpoint", self.folder / "run"]
        expected = self.train([c_sample], "--steps", "30", "--sharding", "full", ranks=2)
        self.assertEqual(self.train(program, "--steps", "30", *kept, ranks=2), expected)
        self.assertEqual(self.train(program, "--steps", "30", *kept, ranks=2), expected, "no step is left")

    def test_a_run_goes_on_from_its_checkpoint_as_in_c(self):
        losses = []
        for sample, again in ((program, []), ([c_sample], ["--resume"])):
            kept = ["--checkpoint", self.folder / f"run-{len(losses)}"]
            self.train(sample, "--steps", "20", *kept)
            losses.append(self.train(sample, "--steps", "30", *kept, *again))
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], self.train(program, "--steps", "30"), "the schedule was another one at first")

    def test_an_unknown_flag_is_refused(self):
        done = self.run_program(*program, "--stepz", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)


if __name__ == "__main__":
    c_sample, launcher, *program = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
