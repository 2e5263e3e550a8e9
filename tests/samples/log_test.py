#!/usr/bin/env python3
"""The log of a run: its content, and that it depends only on the seed."""

import math
import re
import struct

import sample_run

STEPS = 16
RECIPES = ("fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4")
KEYS = ["step", "record", "loss", "lr", "loss_scale", "outcome", "grad_norm", "items", "items_per_second", "seconds",
        "parts", "memory"]


def shortest_of_fp32(number):
    """The shortest decimal that reads back as the FP32 number nearest to `number`."""
    bits = struct.pack("f", number)
    decimals = (float(f"{struct.unpack('f', bits)[0]:.{digits}g}") for digits in range(1, 10))
    return next(decimal for decimal in decimals if struct.pack("f", decimal) == bits)


class LogTest(sample_run.SampleTest):
    def log_of(self, *arguments):
        path = self.folder / "log.jsonl"
        self.run_well("--epochs", "2", "--batch", "32", "--log", path, *arguments)
        return sample_run.read_log(path)

    def test_each_step_has_one_line_with_all_fields(self):
        records = self.log_of()
        self.assertEqual([record["step"] for record in records], list(range(1, STEPS + 1)))
        for record in records:
            self.assertEqual(list(record), KEYS)
            self.assertEqual((record["outcome"], record["loss_scale"]), ("stepped", 1))
            self.assertGreater(record["grad_norm"], 0)
            self.assertGreater(record["items_per_second"], 0)

    def test_losses_are_fp32_values(self):
        for precision in ("fp32", "bf16", "fp16"):
            losses = [record["loss"] for record in self.log_of("--precision", precision)]
            self.assertEqual(losses, [shortest_of_fp32(loss) for loss in losses])
            as_bf16 = [struct.unpack("I", struct.pack("f", loss))[0] & 0xFFFF for loss in losses]
            self.assertTrue(any(as_bf16), "a loss under autocast is not rounded to BF16")

    def test_a_monitor_samples_tensors_and_changes_nothing(self):
        plain = sample_run.without_speed(self.log_of("--precision", "fp16"))
        self.assertEqual(sample_run.without_speed(self.log_of("--precision", "fp16", "--monitor", "5")), plain)
        sampled = [r for r in sample_run.read_lines(self.folder / "log.jsonl") if r["record"] == "tensor"]
        self.assertEqual({r["kind"] for r in sampled}, {"activation", "gradient", "parameter"})
        self.assertEqual({r["step"] for r in sampled}, {1, 6, 11, 16})

    def test_a_monitor_needs_a_log(self):
        self.assert_fails(self.run_sample("--monitor", "5"), 2, "--monitor: needs --log")

    def test_every_precision_learns(self):
        for precision in ("fp32", "bf16", "fp16", *RECIPES):
            losses = [record["loss"] for record in self.log_of("--precision", precision, "--epochs", "6")]
            self.assertAlmostEqual(losses[0], math.log(10), delta=0.3)
            self.assertLess(losses[-1], 0.5 * losses[0])

    def test_bf16_rounds_and_stays_near_fp32(self):
        fp32, bf16 = (self.log_of("--precision", precision) for precision in ("fp32", "bf16"))
        self.assertNotEqual([r["loss"] for r in fp32], [r["loss"] for r in bf16])
        for a, b in zip(fp32, bf16):
            self.assertAlmostEqual(a["loss"], b["loss"], delta=0.05)

    def test_fp16_scales_its_loss(self):
        records = self.log_of("--precision", "fp16")
        self.assertEqual(records[0]["loss_scale"], 65536)
        unscaled = self.log_of("--precision", "fp32")[0]["grad_norm"]
        self.assertAlmostEqual(records[0]["grad_norm"] / unscaled, 1, delta=0.02)

    def test_a_seed_decides_everything_but_the_speed(self):
        for precision in ("fp32", "bf16", "fp16", *RECIPES):
            first = sample_run.without_speed(self.log_of("--precision", precision, "--seed", "7"))
            self.assertEqual(first, sample_run.without_speed(self.log_of("--precision", precision, "--seed", "7")))
            self.assertNotEqual(first, sample_run.without_speed(self.log_of("--precision", precision, "--seed", "8")))

    def test_the_number_of_threads_changes_nothing_but_the_speed(self):
        for precision in ("fp32", "bf16", "fp16", *RECIPES):
            one = sample_run.without_speed(self.log_of("--precision", precision, "--threads", "1"))
            for threads in ("2", "3"):
                self.assertEqual(one, sample_run.without_speed(self.log_of("--precision", precision, "--threads", threads)))

    def test_a_network_of_convolutions_learns_in_every_precision(self):
        for precision in ("fp32", "bf16", "fp16"):
            records = self.log_of("--model", "cnn", "--precision", precision, "--epochs", "6")
            self.assertAlmostEqual(records[0]["loss"], math.log(10), delta=0.3)
            self.assertLess(records[-1]["loss"], 0.5 * records[0]["loss"])

    def test_the_cosine_schedule_ends_at_zero(self):
        for position, record in enumerate(self.log_of("--lr", "0.004")):
            expected = 0.004 * (1 + math.cos(math.pi * position / STEPS)) / 2
            self.assertAlmostEqual(record["lr"], expected, delta=1e-6 * 0.004)

    def test_the_constant_schedule_keeps_the_rate(self):
        for record in self.log_of("--lr", "0.004", "--schedule", "constant"):
            self.assertAlmostEqual(record["lr"], 0.004, delta=1e-6 * 0.004)

    def test_steps_end_the_run_and_the_schedule(self):
        records = self.log_of("--steps", "5")
        self.assertEqual(len(records), 5)
        self.assertAlmostEqual(records[4]["lr"], 1e-3 * (1 + math.cos(math.pi * 4 / 5)) / 2, delta=1e-9)

    def test_a_loss_that_is_no_number_is_null(self):
        records = self.log_of("--lr", "1e18", "--schedule", "constant", "--steps", "8")
        self.assertIsNone(records[-1]["loss"])

    def test_batches_of_any_size_run(self):
        for batch, steps in (("1", 256), ("33", 7), ("255", 1), ("256", 1)):
            path = self.folder / "log.jsonl"
            self.run_well("--epochs", "1", "--batch", batch, "--log", path)
            self.assertEqual(len(sample_run.read_log(path)), steps)

    def test_progress_is_printed_every_hundred_steps_and_at_the_end_of_an_epoch(self):
        lines = self.run_well("--steps", "250", "--batch", "2").splitlines()
        steps = [re.fullmatch(r"epoch \d/2 step (\d+)/250 loss \d\.\d{4} \d+ images/s", line) for line in lines[1:-1]]
        self.assertEqual([step and step.group(1) for step in steps], ["100", "128", "200", "250"])
        self.assertRegex(lines[-1], r"\Aaccuracy [01]\.\d{4}\Z")

    def test_a_log_that_cannot_be_written_is_told(self):
        for path in (self.folder, self.folder / "no" / "log", "/dev/full"):
            self.assert_fails(self.run_sample("--epochs", "1", "--log", path), 1, "write_to", path)


if __name__ == "__main__":
    sample_run.main()
