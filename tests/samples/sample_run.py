"""Runs a sample; the training sample uses a data set that is made here. Used by every test in this folder."""

import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77  # must match tests/samples/CMakeLists.txt

DEADLINE = 120  # seconds, for everything that a test waits for

TRAIN_COUNT = 256
TEST_COUNT = 64
SIDE = 28

program = None  # set by main


def ranks_of(launcher):
    """The processes of ranks that a running halftone-run has started, in order; not the one that removes its folder."""
    children = subprocess.run(["pgrep", "-P", str(launcher.pid)], capture_output=True, text=True).stdout.split()
    of_launcher = os.readlink(f"/proc/{launcher.pid}/exe")
    return [int(child) for child in children if os.readlink(f"/proc/{child}/exe") != of_launcher]


def idx(shape, data, kind=0x08):
    """Returns the bytes of an IDX file."""
    return bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", size) for size in shape) + data


def make_images(labels, rng):
    """Makes one image per label: noise, and a bright bar whose height depends on the label."""
    images = bytearray(rng.randbytes(len(labels) * SIDE * SIDE))
    for i in range(len(images)):
        images[i] >>= 3
    for number, label in enumerate(labels):
        start = number * SIDE * SIDE + label * 2 * SIDE
        images[start:start + 2 * SIDE] = b"\xe0" * (2 * SIDE)
    return bytes(images)


def write_idx(path, shape, data):
    path.write_bytes(gzip.compress(idx(shape, data), mtime=0))


def write_data(directory, train_count=TRAIN_COUNT):
    """Writes the four files of a data set that a network learns within a few steps."""
    rng = random.Random(1)
    for part, count in (("train", train_count), ("t10k", TEST_COUNT)):
        labels = bytes(i % 10 for i in range(count))
        write_idx(directory / f"{part}-images-idx3-ubyte.gz", (count, SIDE, SIDE), make_images(labels, rng))
        write_idx(directory / f"{part}-labels-idx1-ubyte.gz", (count,), labels)


def read_lines(path):
    """Returns all records of a log; fails if a line is not complete."""
    text = pathlib.Path(path).read_text()
    assert text == "" or text.endswith("\n"), "the last line is not complete"
    return [json.loads(line, parse_constant=refuse_constant) for line in text.splitlines()]


def read_log(path):
    """Returns the records of the steps."""
    return [record for record in read_lines(path) if record["record"] == "step"]


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


# The times of a record, and its memory, which depends on the number of threads.
MEASURED = ("items_per_second", "seconds", "parts", "memory")


def without_speed(records):
    """The part of the records in which two runs must be equal."""
    return [{key: value for key, value in record.items() if key not in MEASURED} for record in records]


class ProgramTest(unittest.TestCase):
    """A test with its own folder."""

    leading = []  # arguments before all others
    encoding = None  # of the sample's output; None: that of the machine

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def run_sample(self, *arguments):
        command = [program, *self.leading, *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding=self.encoding, timeout=300)

    def run_well(self, *arguments):
        result = self.run_sample(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def assert_fails(self, result, status, *parts):
        """Requires one line on standard error that contains all parts."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, r"\Aerror: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(str(part), result.stderr)

    def start(self, *arguments):
        """Starts the sample, which writes self.log."""
        command = [program, *self.leading, "--log", self.log, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": self.encoding}
        process = subprocess.Popen(command, **pipes)
        self.addCleanup(process.kill)
        return process

    def wait_for_steps(self, process, count):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and process.poll() is None:
            if self.log.exists() and self.log.read_bytes().count(b'"record":"step"') >= count:
                return
            time.sleep(0.005)
        self.fail(f"no {count} steps; exit status {process.poll()}")


class SampleTest(ProgramTest):
    """All tests of the class share one data set; arguments may name another."""

    @classmethod
    def setUpClass(cls):
        cls.data_folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.data_folder.cleanup)
        cls.data = pathlib.Path(cls.data_folder.name)
        write_data(cls.data)
        cls.leading = ["--data", cls.data]


class RunningSample(SampleTest):
    """Runs that end only when they are stopped."""

    def start(self, *arguments):
        return super().start("--epochs", "1000000", *arguments)


def main():
    global program
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [CASE]...")
    program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__")
