"""A sample in another language learns, and computes the losses of the C sample. Skipped without the images.

    sample_test.py TRAIN_FASHION_MNIST COMMAND...      the C sample, and the command of the other
"""

import json
import subprocess
import sys
import tempfile
import unittest
from array import array
from pathlib import Path

DIRECTORY = Path("/usr/share/datasets/fashion-mnist")
c_sample = ""
command = []


def run(*program):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        done = subprocess.run([*program, "--log", log], capture_output=True, text=True, check=True)
        losses = array("f", [json.loads(line)["loss"] for line in log.read_text(encoding="utf-8").splitlines()])
    return losses, float(done.stdout.splitlines()[-1].removeprefix("accuracy "))


class Sample(unittest.TestCase):
    def test_a_hundred_steps_learn_most_of_the_clothes_as_in_c(self):
        for precision in ("fp32", "bf16"):
            flags = ["--precision", precision, "--steps", "100", "--seed", "3"]
            losses, accuracy = run(*command, *flags)
            self.assertGreater(accuracy, 0.75)
            self.assertEqual((losses, accuracy), run(c_sample, *flags))


if __name__ == "__main__":
    if not DIRECTORY.is_dir():
        print(f"skipped: {DIRECTORY} is not there (Debian: dataset-fashion-mnist)")
        sys.exit(77)
    c_sample, *command = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
