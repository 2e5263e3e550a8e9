#!/usr/bin/env python3
"""Runs the library on processors that lack instructions of this one, emulated by QEMU. The library must choose kernels
that they can run, by CPUID alone, and train as it does here. Skipped if QEMU's user mode is not installed.

    instruction_sets_test.py PROGRAM [ARGUMENT...]      print_training, and the tests' own options
"""

import shutil
import subprocess
import sys
import unittest

QEMU = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
SKIPPED = 77
# QEMU's name of the processor, and the kernels that it can run.
PROCESSORS = {"qemu64": "SCALAR", "Nehalem": "SCALAR", "Haswell": "AVX2"}
# Compares weights after ten steps. Another instruction set may sum in another order.
TOLERANCE = 2e-3
program = ""


def trained(*before: str) -> tuple[str, list[float]]:
    """Returns (kernels, weights) of one run of the program."""
    done = subprocess.run([*before, program], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{before} exits with {done.returncode}: {done.stderr}")
    head, *numbers = done.stdout.splitlines()
    return head.rsplit(" ", 1)[1], [float(number) for number in numbers]


class H11(unittest.TestCase):
    def test_h11_processors_without_wide_vectors_train_as_this_one_does(self):
        _, expected = trained()
        self.assertGreater(len(expected), 2000)
        for processor, kernels in PROCESSORS.items():
            with self.subTest(processor):
                name, weights = trained(QEMU, "-cpu", processor)
                self.assertEqual(name, kernels)
                self.assertEqual(len(weights), len(expected))
                self.assertLess(max(abs(a - b) for a, b in zip(weights, expected)), TOLERANCE)


if __name__ == "__main__":
    program = sys.argv.pop(1)
    if QEMU is None:
        print("skipped: there is no qemu-x86_64 (Debian: qemu-user)")
        sys.exit(SKIPPED)
    unittest.main()
