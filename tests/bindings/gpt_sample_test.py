"""The GPT sample of a language computes what the C sample computes, alone and with other processes, and resumes.

    gpt_sample_test.py TRAIN_GPT HALFTONE_RUN [--shardings A,B] [COMMAND...]

The C sample, the launcher, and the command of the sample: that in Python without one, to which PYTHONPATH leads. With
--shardings it does nothing but compare runs that share so.
"""

import fcntl
import os
import pty
import random
import re
import signal
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

import sample_log

SHAPE = ["--layers", "1", "--width", "32", "--heads", "2", "--context", "32", "--batch", "8", "--generate", "0"]
STEPS = ["--steps", "12", "--schedule", "constant"]
program = sample_log.python_sample("train_gpt.py")
c_sample = launcher = ""
SHARDINGS = ["ddp", "optimizer", "gradients", "full", "hybrid"]
RESUMED = [("none", 1), ("ddp", 2), ("full", 2)]


is_on_terminal = False


def own_terminal():
    """Makes the terminal that of the new process alone, which then hears Ctrl+C from it."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Stoppable:
    """A running program that is told to stop: by SIGTERM, or by Ctrl+C on its terminal, as Mono hears no other way."""

    def __init__(self, command):
        words = [str(part) for part in command]
        if not is_on_terminal:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE)
            return
        self.terminal, side = pty.openpty()
        self.process = subprocess.Popen(words, stdin=side, stdout=side, preexec_fn=own_terminal,
                                        env={**os.environ, "TERM": "xterm"})
        os.close(side)

    def stop(self):
        """Returns the exit status and what the program printed."""
        if not is_on_terminal:
            self.process.terminate()
            output, _ = self.process.communicate(timeout=60)
            return self.process.returncode - 128, output.decode()
        os.write(self.terminal, b"\x03")
        output = b""
        with open(self.terminal, "rb", buffering=0) as terminal:
            while chunk := read_or_end(terminal):
                output += chunk
        return self.process.wait(timeout=60) - 128, output.decode()


def read_or_end(terminal):
    try:
        return terminal.read(4096)
    except OSError:  # the program has closed its side
        return b""


def sentences():
    rng = random.Random(3)
    parts = (["the cat", "a small dog", "the old king"], ["saw", "chased", "forgot"], ["the moon.", "a boat."])
    return "\n".join(" ".join(rng.choice(part) for part in parts) for _ in range(400))


class Sample(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.text = self.folder / "text"
        self.text.write_text(sentences(), encoding="utf-8")

    def train(self, sample, *flags, ranks=1):
        log = self.folder / "log"
        leading = [launcher, "-n", ranks] if ranks > 1 else []
        output = sample_log.run(*leading, *sample, "--text", self.text, *SHAPE, "--log", log, *flags)
        found = re.search(r"validation loss ([\d.]+)", output)
        return sample_log.records(log), found and found[1]

    def expect_the_same(self, *flags, ranks=1):
        computed = self.train(program, *flags, ranks=ranks)
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
        for sharding in SHARDINGS:
            with self.subTest(sharding):
                self.expect_the_same("--sharding", sharding, *STEPS, ranks=4 if sharding == "hybrid" else 2)

    def test_state_that_is_kept_elsewhere_has_them(self):
        self.expect_the_same("--sharding", "optimizer", "--offload", "file", "--offload-path", self.folder, *STEPS,
                             ranks=2)

    def test_accumulated_batches_are_sent_once(self):
        self.expect_the_same("--sharding", "ddp", "--accumulate", "2", *STEPS, ranks=2)

    def test_a_stopped_run_resumes_as_if_it_had_never_stopped(self):
        for sharding, ranks in RESUMED:
            for first in (program, [c_sample]):
                with self.subTest(sharding=sharding, first=Path(first[-1]).name):
                    shared = ["--sharding", sharding, *STEPS[2:]]
                    whole, loss = self.train(program, *shared, "--steps", "12", ranks=ranks)
                    kept = ["--checkpoint", self.folder / f"{sharding}-{len(first)}", *shared]
                    begun, _ = self.train(first, *kept, "--steps", "7", ranks=ranks)
                    self.assertEqual(begun, whole[:7])
                    resumed = self.train(program, *kept, "--steps", "12", "--resume", ranks=ranks)
                    self.assertEqual(resumed, (whole, loss))

    def test_a_signal_ends_it_after_a_whole_step(self):
        log = self.folder / "log"
        command = [*program, "--text", self.text, *SHAPE, "--log", log, "--steps", "100000", "--epochs", "100000",
                   "--checkpoint", self.folder / "run"]
        running = Stoppable(command)
        while not log.exists() or log.read_text(encoding="utf-8").count("\n") < 3:
            self.assertIsNone(running.process.poll())
        number, output = running.stop()
        self.assertEqual(number, signal.SIGINT if is_on_terminal else signal.SIGTERM)
        steps = len(sample_log.records(log))
        self.assertRegex(output, rf"stopped by (SIGTERM|a signal) after step {steps} of")
        self.assertTrue((self.folder / f"run/step-{steps}").is_dir())

    def test_it_writes_the_bytes_that_were_asked_for(self):
        flags = ["--text", self.text, *SHAPE, "--steps", "2", "--generate", "50", "--temperature", "0"]
        written = [sample_log.run(*program, *flags).partition("text:\n")[2] for _ in range(2)]
        self.assertEqual(written[0], written[1])
        self.assertGreater(len(written[0].encode()), 50)

    def test_wrong_flags_are_named(self):
        for flags, text in ((["--resume"], "--resume: needs --checkpoint"), (["--heads", "3"], "--heads 3"),
                            (["--text", "/absent"], "--text /absent"), (["--batch", "99999"], "--batch 99999")):
            command = [*program, "--text", self.text, *SHAPE, *flags]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        alone = subprocess.run([launcher, "-n", "2", *map(str, program), "--text", str(self.text), *SHAPE],
                               capture_output=True, text=True)
        self.assertIn("--sharding: halftone-run started 2 processes", alone.stderr)


if __name__ == "__main__":
    c_sample, launcher, *command = sys.argv[1:]
    names = []
    if command[:1] == ["--shardings"]:
        SHARDINGS, program, names = command[1].split(","), command[2:], ["Sample.test_every_sharding_has_them"]
    elif command:  # the calls below are Python's: other languages make some of them
        program, SHARDINGS, RESUMED = command, ["ddp", "full"], [("full", 2)]
        is_on_terminal = Path(command[0]).name == "mono"
    unittest.main(argv=[*sys.argv[:1], *names])
