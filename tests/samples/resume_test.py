#!/usr/bin/env python3
"""A run that is killed and resumed equals a run without an interruption; a run that cannot be resumed reports the
reason.
"""

import random
import shutil
import time

import sample_run

EVERY = 3
STEPS = 24


class ResumeTest(sample_run.RunningSample):
    def arguments(self, *more):
        return ["--batch", "32", "--epochs", "3", "--checkpoint-every", str(EVERY), *more]

    def run_to_the_end(self, *more):
        self.run_well("--log", self.log, *self.arguments(*more))
        return sample_run.without_speed(sample_run.read_log(self.log))

    def checkpoints(self):
        return self.folder / "run"

    def resumed(self, *more):
        return self.run_to_the_end("--checkpoint", self.checkpoints(), "--resume", *more)

    def kill_at_a_random_instant(self, *more):
        process = self.start(*self.arguments("--checkpoint", self.checkpoints(), "--resume", *more))
        self.wait_for_steps(process, 1)
        time.sleep(random.random() * 0.05)
        process.kill()
        process.communicate(timeout=sample_run.DEADLINE)

    def assert_resumes(self, kills, *more):
        whole = self.run_to_the_end(*more)
        self.assertEqual(len(whole), STEPS)
        for _ in range(kills):
            self.kill_at_a_random_instant(*more)
        self.assertEqual(self.resumed(*more), whole)

    def test_a_killed_run_goes_on_as_if_it_had_never_stopped(self):
        for precision in ("fp32", "bf16", "fp16"):
            with self.subTest(precision=precision):
                self.assert_resumes(3, "--precision", precision)
                shutil.rmtree(self.checkpoints())

    def test_a_killed_run_of_a_recipe_goes_on_likewise(self):
        for precision in ("fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4"):
            with self.subTest(precision=precision):
                self.assert_resumes(1, "--precision", precision)
                shutil.rmtree(self.checkpoints())

    def test_convolutions_go_on_as_well(self):
        self.assert_resumes(1, "--model", "cnn")

    def test_a_finished_run_has_nothing_left_to_do(self):
        whole = self.run_to_the_end("--checkpoint", self.checkpoints())
        self.assertEqual(self.resumed(), whole)

    def test_a_longer_run_goes_on_from_a_shorter_one(self):
        whole = self.run_to_the_end("--schedule", "constant")
        self.run_to_the_end("--schedule", "constant", "--checkpoint", self.checkpoints(), "--steps", "7")
        self.assertEqual(self.resumed("--schedule", "constant"), whole)

    def test_a_damaged_checkpoint_is_passed_over_and_named(self):
        constant = ["--schedule", "constant"]  # the other schedule depends on the total number of steps
        whole = self.run_to_the_end(*constant)
        self.run_to_the_end(*constant, "--checkpoint", self.checkpoints(), "--steps", "8")
        newest = self.checkpoints() / "step-8" / "rank-0-of-1.safetensors"
        data = bytearray(newest.read_bytes())
        data[-1] ^= 1
        newest.write_bytes(data)
        arguments = self.arguments(*constant, "--checkpoint", self.checkpoints(), "--resume")
        result = self.run_sample("--log", self.log, *arguments)
        self.assertEqual(result.returncode, 0)
        self.assertIn("step 8 is damaged; that of step 6 is loaded", result.stderr)
        self.assertEqual(sample_run.without_speed(sample_run.read_log(self.log)), whole)

    def assert_refused(self, expected, status, *arguments):
        result = self.run_sample(*self.arguments(*arguments))
        self.assertEqual(result.returncode, status)
        self.assertIn(expected, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_what_cannot_be_resumed_is_said_and_harms_nothing(self):
        whole = self.run_to_the_end("--checkpoint", self.checkpoints())
        there = ["--checkpoint", self.checkpoints()]
        self.assert_refused("holds a run of 24 steps", 1, *there)
        self.assert_refused("batch_size=32, the sampler has 64", 1, *there, "--resume", "--batch", "64")
        self.assert_refused("does not fit model", 1, *there, "--resume", "--model", "cnn")
        self.assert_refused("needs --checkpoint", 2, "--resume")
        self.assert_refused("No such file", 1, "--checkpoint", self.folder / "none" / "run")
        self.assertEqual(self.resumed(), whole)

    def test_two_runs_do_not_share_a_directory(self):
        process = self.start("--batch", "32", "--checkpoint", self.checkpoints())
        self.wait_for_steps(process, 1)
        self.assert_refused("writes into", 1, "--checkpoint", self.checkpoints(), "--resume")
        process.kill()
        process.communicate(timeout=sample_run.DEADLINE)


if __name__ == "__main__":
    sample_run.main()
