"""The Fashion-MNIST sample of a language learns, computes the losses of the C sample, and resumes. Skipped without the
images.

    sample_test.py TRAIN_FASHION_MNIST HALFTONE_RUN [COMMAND...]

The C sample, the launcher, and the command of the sample: that in Python without one, to which PYTHONPATH leads.
"""

import sys
import tempfile
import unittest
from pathlib import Path

import sample_log

DIRECTORY = Path("/usr/share/datasets/fashion-mnist")
sample = sample_log.python_sample("train_fashion_mnist.py")
c_sample = launcher = ""


class Sample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, program, *flags, ranks=1):
        log = self.folder / "log"
        leading = [launcher, "-n", ranks] if ranks > 1 else []
        output = sample_log.run(*leading, *program, "--log", log, *flags)
        return sample_log.records(log), float(output.splitlines()[-1].rpartition("accuracy ")[2])

    def test_a_hundred_steps_learn_most_of_the_clothes_as_in_c(self):
        for precision in ("fp32", "bf16"):
            flags = ["--precision", precision, "--steps", "100", "--seed", "3"]
            computed = self.train(sample, *flags)
            self.assertGreater(computed[1], 0.75)
            self.assertEqual(computed, self.train([c_sample], *flags))

    def test_convolutions_and_scaled_losses_are_those_of_c(self):
        flags = ["--model", "cnn", "--precision", "fp16", "--steps", "5"]
        self.assertEqual(self.train(sample, *flags), self.train([c_sample], *flags))

    def test_processes_resume_what_they_share(self):
        flags = ["--sharding", "full", "--schedule", "constant"]
        whole = self.train([c_sample], *flags, "--steps", "10", ranks=2)
        kept = [*flags, "--checkpoint", self.folder / "run"]
        self.train(sample, *kept, "--steps", "4", ranks=2)
        self.assertEqual(self.train(sample, *kept, "--steps", "10", "--resume", ranks=2), whole)


if __name__ == "__main__":
    if not DIRECTORY.is_dir():
        print(f"skipped: {DIRECTORY} is not there (Debian: dataset-fashion-mnist)")
        sys.exit(77)
    c_sample, launcher, *command = sys.argv[1:]
    if command:  # gpt_sample_test.py does this for every language
        del Sample.test_convolutions_and_scaled_losses_are_those_of_c, Sample.test_processes_resume_what_they_share
    sample = command or sample
    unittest.main(argv=sys.argv[:1])
