"""The GPT sample in Python computes what the C sample computes, alone and with other processes, and resumes.

    gpt_sample_test.py TRAIN_GPT HALFTONE_RUN      the C sample and the launcher; PYTHONPATH leads to the package
"""

import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sample_log

SHAPE = ["--layers", "1", "--width", "32", "--heads", "2", "--context", "32", "--batch", "8", "--generate", "0"]
STEPS = ["--steps", "12", "--schedule", "constant"]
PYTHON = sample_log.python_sample("train_gpt.py")
c_sample = launcher = ""


def sentences():
    rng = random.Random(3)
    parts = (["the cat", "a small dog", "the old king"], ["saw", "chased", "forgot"], ["the moon.", "a boat."])
    return "\n".join(" ".join(rng.choice(part) for part in parts) for _ in range(400))


class Sample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.text = self.folder / "text"
        self.text.write_text(sentences(), encoding="utf-8")

    def train(self, program, *flags, ranks=1):
        log = self.folder / "log"
        leading = [launcher, "-n", ranks] if ranks > 1 else []
        output = sample_log.run(*leading, *program, "--text", self.text, *SHAPE, "--log", log, *flags)
        found = re.search(r"validation loss ([\d.]+)", output)
        return sample_log.records(log), found and found[1]

    def expect_the_same(self, *flags, ranks=1):
        computed = self.train(PYTHON, *flags, ranks=ranks)
        self.assertEqual(len(computed[0]), 12)
        self.assertEqual(computed, self.train([c_sample], *flags, ranks=ranks))

    def test_every_precision_has_the_losses_of_c(self):
        for precision in ("fp32", "bf16", "fp16"):
            with self.subTest(precision):
                self.expect_the_same("--precision", precision, "--steps", "12")

    def test_accumulated_and_recomputed_batches_have_them(self):
        self.expect_the_same("--accumulate", "2", "--recompute", "full", *STEPS)
        self.expect_the_same("--recompute", "selective", *STEPS)

    def test_every_sharding_has_them(self):
        for sharding in ("ddp", "optimizer", "gradients", "full", "hybrid"):
            with self.subTest(sharding):
                self.expect_the_same("--sharding", sharding, *STEPS, ranks=4 if sharding == "hybrid" else 2)

    def test_accumulated_batches_are_sent_once(self):
        self.expect_the_same("--sharding", "ddp", "--accumulate", "2", *STEPS, ranks=2)

    def test_a_stopped_run_resumes_as_if_it_had_never_stopped(self):
        for sharding, ranks in (("none", 1), ("ddp", 2), ("full", 2)):
            for first in (PYTHON, [c_sample]):
                with self.subTest(sharding=sharding, first=Path(first[-1]).name):
                    shared = ["--sharding", sharding, *STEPS[2:]]
                    whole, loss = self.train(PYTHON, *shared, "--steps", "12", ranks=ranks)
                    kept = ["--checkpoint", self.folder / f"{sharding}-{len(first)}", *shared]
                    begun, _ = self.train(first, *kept, "--steps", "7", ranks=ranks)
                    self.assertEqual(begun, whole[:7])
                    resumed = self.train(PYTHON, *kept, "--steps", "12", "--resume", ranks=ranks)
                    self.assertEqual(resumed, (whole, loss))

    def test_a_signal_ends_it_after_a_whole_step(self):
        log = self.folder / "log"
        command = [*PYTHON, "--text", self.text, *SHAPE, "--log", log, "--steps", "100000", "--epochs", "100000",
                   "--checkpoint", self.folder / "run"]
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
            while not log.exists() or log.read_text(encoding="utf-8").count("\n") < 3:
                self.assertIsNone(process.poll())
            process.terminate()
            output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + 15)
        steps = len(sample_log.records(log))
        self.assertIn(f"stopped by SIGTERM after step {steps} of", output)
        self.assertTrue((self.folder / f"run/step-{steps}").is_dir())

    def test_it_writes_the_bytes_that_were_asked_for(self):
        flags = ["--text", self.text, *SHAPE, "--steps", "2", "--generate", "50", "--temperature", "0"]
        written = [sample_log.run(*PYTHON, *flags).partition("text:\n")[2] for _ in range(2)]
        self.assertEqual(written[0], written[1])
        self.assertGreater(len(written[0].encode()), 50)

    def test_wrong_flags_are_named(self):
        for flags, text in ((["--resume"], "--resume: needs --checkpoint"), (["--heads", "3"], "--heads 3"),
                            (["--text", "/absent"], "--text /absent"), (["--batch", "99999"], "--batch 99999")):
            command = [*PYTHON, "--text", self.text, *SHAPE, *flags]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        alone = subprocess.run([launcher, "-n", "2", *map(str, PYTHON), "--text", str(self.text), *SHAPE],
                               capture_output=True, text=True)
        self.assertIn("--sharding: halftone-run started 2 processes", alone.stderr)


if __name__ == "__main__":
    launcher, c_sample = sys.argv.pop(), sys.argv.pop()
    unittest.main()
