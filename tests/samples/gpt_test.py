#!/usr/bin/env python3
"""The GPT sample learns a small text, resumes exactly, writes text, and refuses wrong flags by their names."""

import math
import random
import re

import flags_test
import sample_run

DEFAULTS = {
    **{name: flags_test.DEFAULTS[name] for name in flags_test.DEFAULTS.keys() - {"--model", "--data"}},
    "--text": "build/data/bible-kjv.txt",
    "--preset": "tiny",
    "--layers": None,
    "--width": None,
    "--heads": None,
    "--context": None,
    "--vocabulary": None,
    "--epochs": "1",
    "--batch": "16",
    "--accumulate": "1",
    "--recompute": "none",
    "--generate": "200",
    "--temperature": "0.8",
    "--top-k": "0",
    "--top-p": "1",
    "--import": None,
    "--export": None,
}

STEPS = 40
SHAPE = ["--layers", "1", "--width", "32", "--heads", "2", "--context", "32", "--batch", "8"]


def sentences():
    """Returns 12000 bytes of sentences of few words, which a small model learns within some steps."""
    rng = random.Random(3)
    parts = (
        ["the cat", "a small dog", "the old king"],
        ["saw", "chased", "forgot"],
        ["the moon.", "a boat.", "two foxes."],
    )
    text = ""
    while len(text) < 12000:
        text += " ".join(rng.choice(part) for part in parts) + "\n"
    return text[:12000]


class GptTest(sample_run.ProgramTest):
    encoding = "latin-1"  # a model that has learnt little writes any bytes

    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_text(sentences())
        self.leading = ["--text", self.text, *SHAPE]

    def train(self, *more):
        """Returns the records of a run and its last lines: the validation loss and the written text."""
        output = self.run_well("--steps", str(STEPS), "--lr", "1e-2", "--log", self.log, *more)
        return sample_run.without_speed(sample_run.read_log(self.log)), output[output.index("validation loss "):]

    def test_it_learns_in_every_precision(self):
        held_out = []
        for precision in ("fp32", "bf16", "fp16"):
            records, end = self.train("--precision", precision)
            losses = [record["loss"] for record in records]
            self.assertEqual(len(losses), STEPS)
            self.assertAlmostEqual(losses[0], math.log(256), delta=0.2)
            self.assertLess(losses[-1], 0.5 * losses[0])
            held_out.append(float(re.match(r"validation loss (\d+\.\d{6})\n", end).group(1)))
            self.assertAlmostEqual(held_out[-1], losses[-1], delta=0.3)
        self.assertLess(max(held_out) - min(held_out), 0.05)

    def test_it_uses_the_memory_that_it_has_planned(self):
        for precision in ("fp32", "bf16", "fp16"):
            for recompute in ("none", "full", "selective"):
                output = self.run_well("--steps", "3", "--precision", precision, "--recompute", recompute)
                planned = re.search(r"\nmemory planned for a step: ([\d.]+) MiB; weights", output)
                self.assertIn(f"\nmemory used by the steps: {planned.group(1)} MiB, 100.0 % of the plan\n", output)

    def test_it_tells_its_speed(self):
        self.assertRegex(self.run_well("--steps", "2"), r"\n\d+ tokens/s\n")

    def test_a_seed_decides_the_log_and_the_text(self):
        first = self.train("--seed", "7")
        self.assertEqual(first, self.train("--seed", "7", "--threads", "1"))
        other = self.train("--seed", "8")
        self.assertNotEqual(first[0], other[0])
        self.assertNotEqual(first[1], other[1])

    def test_batches_that_are_accumulated_equal_one_large_batch(self):
        whole, _ = self.train("--precision", "fp32", "--steps", "6")
        parts, _ = self.train("--precision", "fp32", "--steps", "6", "--batch", "4", "--accumulate", "2")
        self.assertEqual(len(whole), len(parts))
        for a, b in zip(whole, parts):
            self.assertAlmostEqual(a["loss"], b["loss"], delta=1e-4)

    def test_recomputation_changes_no_digit(self):
        for precision in ("fp32", "bf16", "fp16"):
            run = ["--precision", precision, "--steps", "10", "--accumulate", "2", "--recompute"]
            plain = self.train(*run, "none")
            for choice in ("full", "selective"):
                self.assertEqual(self.train(*run, choice), plain)

    def test_a_stopped_run_resumes_as_if_it_had_never_stopped(self):
        for precision in ("bf16", "fp16"):
            constant = ["--schedule", "constant", "--precision", precision, "--steps", "20"]
            # The limit on steps decides the warm-up as well: runs of 20 to 39 steps have one step of it.
            run = ["--checkpoint", self.folder / precision]
            whole = self.train(*constant, "--steps", "39")
            self.train(*constant, *run)
            self.assertEqual(self.train(*constant, *run, "--resume", "--steps", "39"), whole)
            self.assertEqual(self.train(*constant, *run, "--resume", "--steps", "39"), whole)

    def written(self, *arguments):
        """Returns the text without the line's end that the sample adds."""
        output = self.run_well("--steps", "5", *arguments)
        self.assertEqual(output[-1], "\n")
        return output[output.index("\ntext:\n") + len("\ntext:\n"):-1]

    def test_the_text_has_the_length_that_was_asked_for(self):
        for length in (1, 33, 100):
            self.assertEqual(len(self.written("--generate", str(length))), length)
        self.assertNotIn("text:", self.run_well("--steps", "1", "--generate", "0"))

    def test_sampling_narrows_to_the_most_probable_byte(self):
        learnt = ["--steps", str(STEPS), "--lr", "1e-2", "--precision", "fp32"]
        greedy = self.written(*learnt, "--temperature", "0")
        self.assertEqual(greedy, self.written(*learnt, "--top-k", "1"))
        self.assertEqual(greedy, self.written(*learnt, "--top-p", "1e-6"))
        self.assertNotEqual(greedy, self.written(*learnt, "--temperature", "1"))

    def test_a_stop_signal_ends_the_step(self):
        process = self.start("--epochs", "1000000", "--checkpoint", self.folder / "run")
        self.wait_for_steps(process, 2)
        process.terminate()
        stdout, stderr = process.communicate(timeout=sample_run.DEADLINE)
        self.assertEqual((process.returncode, stderr), (143, ""))
        told = re.search(r"^stopped by SIGTERM after step (\d+) of \d+\n\Z", stdout, re.MULTILINE)
        self.assertEqual(len(sample_run.read_log(self.log)), int(told.group(1)))


class GptFlagsTest(sample_run.ProgramTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_text(sentences())

    def assert_refused(self, status, expected, *arguments):
        result = self.run_sample("--text", self.text, *arguments)
        self.assert_fails(result, status, expected)
        self.assertEqual(result.stdout, "")

    def test_the_help_tells_every_flag_and_its_default(self):
        entries = flags_test.help_entries(self.run_well("--help"))
        self.assertEqual(entries, {**DEFAULTS, "--help": None})

    def test_a_bad_value_is_named(self):
        bad = {
            "--preset": ["", "large"],
            "--layers": ["0", "4097", "x"],
            "--width": ["0", "-1"],
            "--heads": ["0", "2.5"],
            "--context": ["0", ""],
            "--vocabulary": ["255", "x"],
            "--accumulate": ["0"],
            "--recompute": ["half", ""],
            "--generate": ["-1", ""],
            "--temperature": ["-1", "nan", ""],
            "--top-k": ["-1", "x"],
            "--top-p": ["1.1", "x"],
            "--precision": ["fp64"],
            "--text": [""],
            "--import": [""],
            "--export": [""],
        }
        for flag, values in bad.items():
            for value in values:
                with self.subTest(flag=flag, value=value):
                    self.assert_refused(2, f"{flag} '{value}': expected ", flag, value)

    def test_sizes_that_do_not_fit_are_named(self):
        self.assert_refused(1, "heads", "--heads", "5")
        self.assert_refused(2, "--context '1200': expected at most 1199", "--context", "1200")
        self.assert_refused(2, "--batch '169': expected at most 168", "--batch", "169")
        self.run_well("--text", self.text, "--context", "1199", "--batch", "1", "--steps", "1", "--generate", "0")

    def test_a_text_that_cannot_be_read_is_named_with_the_command_that_makes_one(self):
        for path, reason in ((self.folder / "none", "No such file"), (self.folder, "Is a directory")):
            result = self.run_sample("--text", path)
            self.assert_fails(result, 1, f"--text {path}: {reason}", "samples/data/make_text")
        for text in ("", "x"):
            self.text.write_text(text)
            self.assert_refused(2, "--context '64': expected at most 0, since the held-out text has 0 bytes")

    def test_a_preset_sets_the_sizes_that_no_flag_sets(self):
        run = ["--text", self.text, "--steps", "1", "--generate", "0", "--checkpoint", self.folder / "run"]
        self.run_well(*run, "--width", "32", "--preset", "tiny")
        again = ["--resume", "--layers", "2", "--heads", "4", "--context", "64", "--vocabulary", "256"]
        self.assertIn("going on after step 1\n", self.run_well(*run, *again, "--preset", "small", "--width", "32"))
        self.assert_fails(self.run_sample(*run, "--resume"), 1, "does not fit model")


if __name__ == "__main__":
    sample_run.main()
