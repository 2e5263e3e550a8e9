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
    "--vocab": "256",
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
    "--top-k": None,
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
                chosen = re.search(r"\n\* (\w+) .* ([\d.]+)\n", output)
                self.assertEqual(chosen.group(1), recompute)
                self.assertIn(f"\nmemory used by the steps: {chosen.group(2)} MiB, 100.0 % of the plan\n", output)

    def test_it_tells_its_speed(self):
        output = self.run_well("--steps", "2")
        self.assertRegex(output, r"\n\d+ tokens/s, [\d.]+ GFLOP/s: [\d.]+ % of the [\d.]+ GFLOP/s of a matrix product")

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

    def test_tokens_of_several_bytes_are_learnt_and_written(self):
        records, end = self.train("--vocab", "300", "--precision", "fp32")
        self.assertAlmostEqual(records[0]["loss"], math.log(300), delta=0.2)
        told = re.match(r"validation loss (\d+\.\d{6}) per token, (\d+\.\d{6}) per byte\ntext:\n", end)
        of_token, of_byte = (float(number) for number in told.groups())
        self.assertLess(of_token, 0.6 * records[0]["loss"])
        # The sentences are of few words, so that a token has several bytes.
        self.assertGreater(of_token / of_byte, 2)
        written = end[told.end():-1]
        self.assertEqual(len(written), 200)
        self.assertGreater(len(set(re.findall("[a-z]+", written)) & set(re.findall("[a-z]+", sentences()))), 5)
        self.assertEqual(self.written("--vocab", "300", "--generate", "7", "--top-k", "300")[7:], "")

    def test_a_run_resumes_with_the_vocabulary_beside_its_checkpoint(self):
        constant = ["--schedule", "constant", "--steps", "20", "--vocab", "280"]
        folder, kept = self.folder / "run", self.folder / "run.vocab"
        whole = self.train(*constant, "--steps", "39")
        self.train(*constant, "--checkpoint", f"{folder}//")
        vocabulary = kept.read_text()
        self.assertTrue(vocabulary.startswith("byte pairs: 280 tokens of 280\n256 = "), vocabulary[:60])
        again = ["--checkpoint", folder, "--resume", "--steps", "39"]
        self.assertEqual(self.train(*constant, *again), whole)
        kept.unlink()  # learnt again from the same text
        self.assertEqual(self.train(*constant, *again), whole)
        self.assertEqual(kept.read_text(), vocabulary)

    def test_a_vocabulary_that_does_not_fit_the_checkpoint_is_named(self):
        run = ["--steps", "2", "--generate", "0", "--checkpoint", self.folder / "run"]
        kept = self.folder / "run.vocab"
        self.run_well(*run, "--vocab", "280")
        resumed = [*run, "--resume", "--steps", "3", "--vocab", "280"]
        good = kept.read_text()
        lines = good.splitlines(keepends=True)
        kept.write_text(good.replace("280 tokens of", "279 tokens of").removesuffix(lines[-1]))
        self.assert_fails(self.run_sample(*resumed), 1, f"{kept}: does not fit the checkpoint", "of 280 tokens")
        kept.write_text(good[:-5])
        self.assert_fails(self.run_sample(*resumed), 1, f"{kept}: line 25 is no token")
        kept.write_text(good)
        self.assert_fails(self.run_sample(*run, "--resume", "--vocab", "281"), 1, f"{kept}: was made for 280 tokens")
        self.run_well(*resumed)
        kept.unlink()
        self.text.write_text(sentences().replace("dog", "pig").replace("cat", "hen"))
        self.assert_fails(self.run_sample(*resumed, "--steps", "4"), 1, f"{kept}: does not fit the checkpoint")

    def test_exported_weights_have_their_vocabulary_beside_them(self):
        weights, kept = self.folder / "model.safetensors", self.folder / "model.safetensors.vocab"
        constant = ["--vocab", "280", "--lr", "1e-2"]
        _, end = self.train(*constant, "--export", weights)
        same = self.run_well(*constant, "--lr", "0", "--steps", "1", "--import", weights)
        self.assertEqual(same[same.index("validation loss "):], end)
        kept.unlink()
        self.assert_fails(self.run_sample(*constant, "--import", weights), 1, f"{kept}: No such file")

    def test_a_stop_signal_ends_the_step(self):
        process = self.start("--epochs", "1000000", "--checkpoint", self.folder / "run")
        self.wait_for_steps(process, 2)
        process.terminate()
        stdout, stderr = process.communicate(timeout=sample_run.DEADLINE)
        self.assertEqual((process.returncode, stderr), (143, ""))
        told = re.search(r"^stopped by SIGTERM after step (\d+) of \d+\n\Z", stdout, re.MULTILINE)
        self.assertEqual(len(sample_run.read_log(self.log)), int(told.group(1)))

    def test_a_stop_signal_ends_the_writing(self):
        process = self.start("--steps", "1", "--generate", "1000000000")
        output = ""
        while not output.endswith("text:\n"):
            line = process.stdout.readline()
            self.assertNotEqual(line, "", "the run ended without a text")
            output += line
        process.terminate()
        written, stderr = process.communicate(timeout=sample_run.DEADLINE)
        self.assertEqual((process.returncode, stderr), (143, ""))
        self.assertTrue(written.endswith("\nstopped by SIGTERM after step 1 of 1\n"), written[-100:])


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
            "--temperature": ["-1", "0.001", "101", "nan", ""],
            "--top-k": ["0", "65537"],
            "--vocab": ["255", "65537", ""],
            "--top-p": ["0", "1.1", "x"],
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
        self.assert_refused(2, "--heads '5': expected a number that divides the width 64", "--heads", "5")
        self.assert_refused(2, "--context '1200': expected at most 1199", "--context", "1200")
        self.assert_refused(2, "--batch '169': expected at most 168", "--batch", "169")
        self.assert_refused(2, "--vocabulary '300': expected at least the 301 tokens of --vocab", "--vocabulary", "300",
                            "--vocab", "301")
        self.run_well("--text", self.text, "--context", "1199", "--batch", "1", "--steps", "1", "--generate", "0")

    def test_a_text_that_cannot_be_read_is_named_with_the_command_that_makes_one(self):
        for path, reason in ((self.folder / "none", "No such file"), (self.folder, "is a directory")):
            result = self.run_sample("--text", path)
            self.assert_fails(result, 1, f"--text {path}: ", reason, "samples/data/make_text")
        self.text.write_text("")
        self.assert_refused(1, "is empty")
        self.text.write_text("x")
        self.assert_refused(2, "--context '64': expected at most 0, since the held-out text has 0 tokens")

    def test_a_preset_sets_the_sizes_that_no_flag_sets(self):
        run = ["--text", self.text, "--steps", "1", "--generate", "0", "--checkpoint", self.folder / "run"]
        self.run_well(*run, "--width", "32", "--preset", "tiny")
        again = ["--resume", "--layers", "2", "--heads", "4", "--context", "64", "--vocabulary", "256"]
        self.assertIn("going on after step 1\n", self.run_well(*run, *again, "--preset", "small", "--width", "32"))
        self.assert_fails(self.run_sample(*run, "--resume"), 1, "does not fit model")


if __name__ == "__main__":
    sample_run.main()
