#!/usr/bin/env python3
"""The sample's flags: the help is complete, and an error names the bad value and the allowed ones."""

import re

import sample_run

DEFAULTS = {
    "--model": "mlp",
    "--precision": "bf16",
    "--device": "cpu",
    "--epochs": "5",
    "--steps": None,
    "--batch": "128",
    "--lr": "1e-3",
    "--schedule": "cosine",
    "--seed": "0",
    "--threads": "0",
    "--sharding": "none",
    "--data": "/usr/share/datasets/fashion-mnist",
    "--log": None,
    "--monitor": "0",
    "--checkpoint": None,
    "--checkpoint-every": "500",
    "--resume": None,
}

BAD_VALUES = {
    "--model": ["", "CNN", "linear", "cn"],
    "--precision": ["", "BF16", "fp64", "bf16 ", "bf1"],
    "--device": ["", "toaster", "cpu:x", "cpu ", "cuda:99"],
    "--epochs": ["", "0", "-1", "+1", " 1", "1.5", "1e3", "x", "0x10", "1000001", "99999999999999999999"],
    "--steps": ["", "0", "-3", "1000000001", "five"],
    "--batch": ["", "0", "-128", "1000001", "12 8"],
    "--lr": ["", "-1", "nan", "inf", "-inf", "0x1p-3", "1e999", "1,5", "1e-3x", "--5", " 1", "e"],
    "--schedule": ["", "linear", "Cosine"],
    "--seed": ["", "-1", "9223372036854775808", "abc"],
    "--threads": ["", "-1", "257", "two"],
    "--sharding": ["", "DDP", "zero", "ddp "],
    "--data": [""],
    "--log": [""],
    "--monitor": ["", "-1", "x"],
    "--checkpoint": [""],
    "--checkpoint-every": ["", "0", "-1", "x"],
}


def help_entries(text):
    """Returns the flags that a help lists, with their defaults."""
    entries = re.findall(r"^  (--[\w-]+) .*\n(?: {22}(.*)\n)?", text, re.MULTILINE)
    defaults = [(name, re.search(r"; default (.*)$", expected)) for name, expected in entries]
    return {name: found and found.group(1) for name, found in defaults}


class FlagsTest(sample_run.SampleTest):
    def test_the_help_tells_every_flag_and_its_default(self):
        self.assertEqual(help_entries(self.run_well("--help")), {**DEFAULTS, "--help": None})

    def test_the_help_comes_before_anything_is_done(self):
        result = self.run_sample("--steps", "1", "--data", self.folder / "nowhere", "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("usage:", result.stdout)

    def test_the_defaults_are_what_the_help_tells(self):
        told = [part for name, value in DEFAULTS.items() if value and name != "--data" for part in (name, value)]
        logs = []
        for arguments in ([], told):
            path = self.folder / "log"
            self.run_well("--log", path, *arguments)
            logs.append([(r["step"], r["loss"], r["lr"]) for r in sample_run.read_log(path)])
        self.assertEqual(len(logs[0]), 5 * (sample_run.TRAIN_COUNT // 128))
        self.assertEqual(logs[0], logs[1])

    def test_a_bad_value_is_named_with_what_is_expected(self):
        for flag, values in BAD_VALUES.items():
            for value in values:
                for arguments in ((flag, value), (f"{flag}={value}",)):
                    with self.subTest(arguments=arguments):
                        result = self.run_sample(*arguments)
                        self.assert_fails(result, 2, f"{flag} '{value}': expected ")
                        self.assertEqual(result.stdout, "")

    def test_a_batch_beyond_the_data_is_refused(self):
        result = self.run_sample("--batch", str(sample_run.TRAIN_COUNT + 1))
        self.assert_fails(result, 2, f"--batch '{sample_run.TRAIN_COUNT + 1}': expected at most {sample_run.TRAIN_COUNT}")

    def test_a_flag_without_a_value_is_named(self):
        for flag in DEFAULTS.keys() - {"--resume"}:
            self.assert_fails(self.run_sample(flag), 2, f"{flag}: has no value; expected ")
        self.assert_fails(self.run_sample("--checkpoint", "run", "--resume=yes"), 2, "--resume 'yes': expected no value")

    def test_what_is_no_flag_is_named(self):
        for argument in ("--step", "--stepsx", "steps", "-h", "", "--", "--help=1"):
            self.assert_fails(self.run_sample(argument), 2, f"{argument}: no such flag; --help lists all")

    def test_a_value_cannot_write_on_the_terminal(self):
        result = self.run_sample("--precision", "a\nb\x1b[31m\x7f")
        self.assert_fails(result, 2, "--precision 'a?b?[31m?': expected ")

    def test_both_forms_are_taken_and_the_last_one_counts(self):
        text = self.run_well("--steps=9", "--batch", "16", "--steps", "3", "--precision=fp32")
        self.assertIn("step 3/3", text)
        self.assertIn("training in f32 ", text)

    def test_standard_output_that_is_full_is_told(self):
        with open("/dev/full", "w") as full:
            command = [sample_run.program, "--data", self.data, "--steps", "1"]
            result = sample_run.subprocess.run(command, stdout=full, stderr=sample_run.subprocess.PIPE, text=True)
        self.assert_fails(result, 1, "standard output")


if __name__ == "__main__":
    sample_run.main()
