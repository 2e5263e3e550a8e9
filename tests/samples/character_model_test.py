#!/usr/bin/env python3
"""The language model of characters learns in every precision, without a skipped step, and writes text.

    tests/samples/character_model_test.py PROGRAM
"""
import subprocess
import sys
import unittest

program = ""


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


class CharacterModelTest(unittest.TestCase):
    def test_it_learns_in_every_precision_with_the_loss_outside_of_autocast(self):
        losses = []
        for precision in ("fp32", "bf16", "fp16"):
            done = run(precision, "30")
            self.assertEqual(done.returncode, 0, done.stderr)
            step, skipped, text = done.stdout.splitlines()
            self.assertRegex(step, r"^step 30  loss \d+\.\d{4}$")
            self.assertEqual(skipped, "0 steps skipped")
            self.assertRegex(text, r"^[a-z .]{120}$")
            losses.append(float(step.split()[-1]))
        # A model that has learnt nothing is at log 28 = 3.33; 16-bit products change the loss little.
        self.assertLess(losses[0], 2.5)
        self.assertLess(max(losses) - min(losses), 0.02)

    def test_wrong_arguments_are_refused(self):
        for arguments in (("fp8",), ("fp32", "0"), ("fp32", "5", "more"), ("bf16", "many")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("usage: character_model", done.stderr)


if __name__ == "__main__":
    program = sys.argv.pop(1)
    unittest.main()
