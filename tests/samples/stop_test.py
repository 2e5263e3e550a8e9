#!/usr/bin/env python3
"""Ctrl-C and SIGTERM end the sample cleanly; a second one ends it at once."""

import pathlib
import re
import signal
import time

import sample_run

def catches(process, number):
    """Returns whether a handler waits for the signal; after the first signal there is none."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    mask = int(re.search(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE).group(1), 16)
    return bool(mask >> (number - 1) & 1)


class StopTest(sample_run.RunningSample):
    def stop(self, number):
        process = self.start("--batch", "32")
        self.wait_for_steps(process, 3)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=sample_run.DEADLINE)
        self.assertEqual((process.returncode, stderr), (128 + number, ""))
        return stdout

    def assert_stopped_at_the_last_record(self, stdout, name):
        told = re.search(rf"^stopped by {name} after step (\d+) of 8000000\n\Z", stdout, re.MULTILINE)
        self.assertIsNotNone(told, stdout)
        records = sample_run.read_log(self.log)
        self.assertEqual([record["step"] for record in records], list(range(1, int(told.group(1)) + 1)))
        self.assertNotIn("accuracy ", stdout.splitlines()[-1])

    def test_sigint_ends_the_step_and_answers_130(self):
        self.assert_stopped_at_the_last_record(self.stop(signal.SIGINT), "SIGINT")

    def test_sigterm_ends_the_step_and_answers_143(self):
        self.assert_stopped_at_the_last_record(self.stop(signal.SIGTERM), "SIGTERM")


class SecondSignalTest(sample_run.RunningSample):
    """Uses data so large that a step takes long enough for two signals."""

    TRAIN_COUNT = 20000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        labels = bytes(i % 10 for i in range(cls.TRAIN_COUNT))
        sample_run.write_idx(cls.data / "train-labels-idx1-ubyte.gz", (cls.TRAIN_COUNT,), labels)
        shape = (cls.TRAIN_COUNT, sample_run.SIDE, sample_run.SIDE)
        sample_run.write_idx(cls.data / "train-images-idx3-ubyte.gz", shape, bytes(cls.TRAIN_COUNT * 784))

    def test_a_second_signal_ends_the_program_at_once(self):
        process = self.start("--batch", str(self.TRAIN_COUNT))
        self.wait_for_steps(process, 1)
        process.send_signal(signal.SIGINT)
        while catches(process, signal.SIGINT):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=sample_run.DEADLINE)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertGreaterEqual(len(sample_run.read_log(self.log)), 1)


if __name__ == "__main__":
    sample_run.main()
