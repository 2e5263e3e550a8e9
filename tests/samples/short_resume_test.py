#!/usr/bin/env python3
"""The samples that make their own data: killed and resumed, they equal runs without an interruption."""

import random
import time

import sample_run

STEPS = 1000


class ShortResumeTest(sample_run.ProgramTest):
    def setUp(self):
        super().setUp()
        self.checkpoints = self.folder / "run"

    def arguments(self, *more):
        return ["--steps", str(STEPS), "--checkpoint-every", "7", *more]

    def run_to_the_end(self, *more):
        output = self.run_well("--log", self.log, *self.arguments(*more))
        return output.splitlines()[-1], sample_run.without_speed(sample_run.read_log(self.log))

    def kill_at_a_random_instant(self):
        process = self.start(*self.arguments("--checkpoint", self.checkpoints, "--resume"))
        self.wait_for_steps(process, 1)
        time.sleep(random.random() * 0.05)
        process.kill()
        process.communicate(timeout=sample_run.DEADLINE)
        return process.returncode

    def test_a_killed_run_goes_on_as_if_it_had_never_stopped(self):
        accuracy, whole = self.run_to_the_end()
        self.assertEqual([record["step"] for record in whole], list(range(1, STEPS + 1)))
        statuses = [self.kill_at_a_random_instant() for _ in range(4)]
        self.assertIn(-9, statuses, "no run was killed before its end")
        self.assertEqual(self.run_to_the_end("--checkpoint", self.checkpoints, "--resume"), (accuracy, whole))

    def test_a_longer_run_goes_on_from_a_shorter_one(self):
        whole = self.run_to_the_end()
        self.run_well("--log", self.log, "--checkpoint", self.checkpoints, "--steps", "10")
        output = self.run_well("--log", self.log, *self.arguments("--checkpoint", self.checkpoints, "--resume"))
        self.assertIn("going on after step 10\n", output)
        self.assertEqual(sample_run.without_speed(sample_run.read_log(self.log)), whole[1])

    def test_a_run_that_has_no_checkpoint_yet_begins_afresh(self):
        self.log.write_text('{"step": 1, "loss": 0}\n{"step": 2, "loss": 0}\n')
        resumed = self.run_to_the_end("--checkpoint", self.checkpoints, "--resume")
        self.assertEqual(resumed, self.run_to_the_end())

    def test_what_cannot_be_resumed_is_said(self):
        there = ["--checkpoint", self.checkpoints]
        self.run_well("--steps", "5", *there)
        self.assert_fails(self.run_sample(*there), 1, "holds a run of 5 steps")
        self.assert_fails(self.run_sample("--resume"), 2, "needs --checkpoint")
        self.assert_fails(self.run_sample("--steps", "0"), 2, "--steps '0'")
        self.assert_fails(self.run_sample("--checkpoint", self.folder / "none" / "run"), 1, "No such file")


if __name__ == "__main__":
    sample_run.main()
