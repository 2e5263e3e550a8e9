#!/usr/bin/env python3
"""Samples whose processes share each batch, under halftone-run: one process's losses, stops, kills and resumes.

  tests/samples/ranks_test.py PROGRAM PATH/TO/halftone-run [CASE]...
"""

import os
import re
import signal
import subprocess
import sys
import unittest.mock

import gpt_test
import sample_run

launcher = None  # set by main

STEPS = ["--steps", "12", "--precision", "fp32", "--schedule", "constant"]
DDP = ["--sharding", "ddp"]
FULL = ["--sharding", "full"]
SHARED = ("optimizer", "gradients", "full", "hybrid")


class RanksTest(sample_run.ProgramTest):
    encoding = "latin-1"

    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_text(gpt_test.sentences())
        self.leading = ["--text", self.text, *gpt_test.SHAPE]

    def command(self, ranks, *arguments):
        return [launcher, "-n", str(ranks), "--grace", "20", sample_run.program, *self.leading, "--log", self.log,
                *arguments]

    def run_ranks(self, ranks, *arguments):
        return subprocess.run(self.command(ranks, *arguments), capture_output=True, text=True, encoding=self.encoding,
                              timeout=300)

    def train(self, ranks, *arguments):
        result = self.run_ranks(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return sample_run.without_speed(sample_run.read_log(self.log)), result.stdout

    def start_ranks(self, ranks, *arguments):
        process = subprocess.Popen(self.command(ranks, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, encoding=self.encoding)
        self.addCleanup(process.kill)
        return process

    def test_processes_together_learn_as_one_does(self):
        self.run_well("--log", self.log, *STEPS)
        alone = sample_run.read_log(self.log)
        for ranks in (2, 4):
            together, output = self.train(ranks, *DDP, *STEPS)
            self.assertIn(f"[0] processes: {ranks}\n", output)
            self.assertNotIn("[1]", output, "one process prints")
            self.assertEqual(len(together), len(alone))
            for a, b in zip(alone, together):
                self.assertAlmostEqual(a["loss"], b["loss"], delta=1e-4 * a["loss"])
            self.assertRegex(output, r"validation loss \d")

    def test_processes_that_share_the_state_learn_as_those_that_have_all_of_it(self):
        whole, output = self.train(2, *DDP, *STEPS)
        validation = re.search(r"validation loss [\d.]+", output).group()
        for kind in SHARED:
            with self.subTest(kind):
                shared, output = self.train(4 if kind == "hybrid" else 2, "--sharding", kind, *STEPS)
                for a, b in zip(whole, shared):
                    self.assertAlmostEqual(a["loss"], b["loss"], delta=1e-4 * a["loss"])
                self.assertRegex(output, r"MiB of this process: weights \d.*, sent in a step [\d.]*[1-9]")
                used = float(re.search(r"([\d.]+) % of the plan", output).group(1))
                self.assertTrue(95 < used < 105, used)
                if kind != "hybrid":
                    self.assertIn(validation[:-2], output)

    def test_processes_of_one_machine_may_use_the_network_instead_of_shared_memory(self):
        shared, _ = self.train(2, *DDP, *STEPS)
        with unittest.mock.patch.dict(os.environ, HALFTONE_GROUP="gloo"):
            self.assertEqual(self.train(2, *DDP, *STEPS)[0], shared)
        with unittest.mock.patch.dict(os.environ, HALFTONE_GROUP="pigeons"):
            self.assertIn("pigeons", self.run_ranks(2, *DDP, *STEPS).stderr)

    def test_shared_memory_needs_no_folder_of_the_system(self):
        without = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh"]
        if subprocess.run([*without, "true"], capture_output=True).returncode != 0:
            print("skipped: this user may not mount a file system over /dev/shm")
            self.skipTest("no right to mount")
        shared, _ = self.train(2, *DDP, *STEPS)
        command = [*without, *self.command(2, *DDP, *STEPS)]
        result = subprocess.run(command, capture_output=True, text=True, encoding=self.encoding, timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(sample_run.without_speed(sample_run.read_log(self.log)), shared)

    def test_accumulated_batches_are_averaged_once(self):
        for sharding in (DDP, FULL):
            whole, _ = self.train(2, *sharding, *STEPS)
            parts, _ = self.train(2, *sharding, *STEPS, "--batch", "4", "--accumulate", "2")
            for a, b in zip(whole, parts):
                self.assertAlmostEqual(a["loss"], b["loss"], delta=1e-4)

    def test_every_precision_learns(self):
        for precision in ("bf16", "fp16", "fp8-delayed", "mxfp8"):
            records, _ = self.train(2, *DDP, "--steps", str(gpt_test.STEPS), "--lr", "1e-2", "--precision", precision)
            self.assertLess(records[-1]["loss"], 0.5 * records[0]["loss"])

    def test_a_killed_run_resumes_as_if_it_had_never_stopped(self):
        self.expect_resumed(*DDP)

    def test_a_killed_run_of_shared_weights_resumes_likewise(self):
        self.expect_resumed(*FULL)

    def expect_resumed(self, *sharding):
        run = [*sharding, *STEPS[2:], "--precision", "bf16"]
        kept = ["--checkpoint", self.folder / "run", "--checkpoint-every", "5"]
        whole, _ = self.train(2, *run, "--steps", "39")
        self.log.unlink()
        killed = self.start_ranks(2, *run, "--steps", "39", *kept)
        self.wait_for_steps(killed, 12)
        ranks = sample_run.ranks_of(killed)
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[1], signal.SIGKILL)
        _, errors = killed.communicate(timeout=120)
        self.assertEqual(killed.returncode, 128 + signal.SIGKILL)
        self.assertRegex(errors, r"halftone-run: rank 1 \(process \d+\) was killed by signal 9")
        self.assertRegex(errors, r"\[0\] error: htone_\w+: .*rank 1")
        resumed, output = self.train(2, *run, "--steps", "39", *kept, "--resume")
        self.assertRegex(output, r"going on after step \d+\n")
        self.assertEqual(resumed, whole)

    def test_a_request_to_stop_one_process_stops_all_after_one_step(self):
        run = [*DDP, *STEPS[2:], "--epochs", "1000000", "--checkpoint", self.folder / "run"]
        stopped = self.start_ranks(2, *run)
        self.wait_for_steps(stopped, 5)
        os.kill(sample_run.ranks_of(stopped)[1], signal.SIGTERM)
        output, _ = stopped.communicate(timeout=120)
        self.assertEqual(stopped.returncode, 128 + signal.SIGTERM)
        step = int(re.search(r"stopped by SIGTERM after step (\d+) of", output).group(1))
        self.assertEqual(len(sample_run.read_log(self.log)), step)
        _, output = self.train(2, *run, "--steps", str(step + 2), "--resume")
        self.assertIn(f"going on after step {step}\n", output)

    def test_several_processes_without_sharding_are_refused(self):
        result = self.run_ranks(2, *STEPS)
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: --sharding: halftone-run started 2 processes, which need --sharding ddp", result.stderr)

    def test_hybrid_needs_pairs_of_processes(self):
        result = self.run_ranks(2, "--sharding", "hybrid", *STEPS)
        self.assertEqual(result.returncode, 2)
        self.assertIn("error: --sharding 'hybrid': expected an even number of processes, at least 4, not 2", result.stderr)

    def test_a_batch_that_does_not_divide_is_refused(self):
        result = self.run_ranks(3, *DDP, *STEPS)
        self.assertEqual(result.returncode, 2)
        self.assertIn("error: --batch '8': expected a multiple of 3, the number of processes", result.stderr)

    def test_one_process_shares_with_nobody(self):
        alone = self.train(1, *STEPS)[0]
        self.assertEqual(self.train(1, *DDP, *STEPS)[0], alone)


if __name__ == "__main__":
    launcher = os.path.abspath(sys.argv.pop(2))
    sample_run.main()
