#!/usr/bin/env python3
"""A few steps on the real images of Debian's package dataset-fashion-mnist; skipped if it is not installed."""

import pathlib
import sys

import sample_run

DIRECTORY = pathlib.Path("/usr/share/datasets/fashion-mnist")


class DatasetTest(sample_run.SampleTest):
    def test_a_hundred_steps_learn_most_of_the_clothes(self):
        for precision in ("fp32", "bf16"):
            lines = self.run_well("--data", DIRECTORY, "--precision", precision, "--steps", "100").splitlines()
            self.assertIn("epochs of 468 steps, 100 steps in all", lines[0])
            self.assertGreater(float(lines[-1].removeprefix("accuracy ")), 0.75)


if __name__ == "__main__":
    if not DIRECTORY.is_dir():
        print(f"skipped: {DIRECTORY} is not there (Debian: dataset-fashion-mnist)")
        sys.exit(sample_run.SKIPPED)
    sample_run.main()
