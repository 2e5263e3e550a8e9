#!/usr/bin/env python3
"""The tests that take turns under a sanitizer (tests/turns.cmake):

    turns_test.py CTEST CMAKE BUILD-FOLDER

The build folder is that of a release tree, which has every test."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TURNS = Path(__file__).resolve().parents[1] / "turns.cmake"


def patterns():
    text = TURNS.read_text(encoding="utf-8")
    for block in re.findall(r"set\(HALFTONE_TURNS_OF_\w+\n(.*?)\)\n", text, re.S):
        yield from (pattern.replace("\\\\", "\\") for pattern in re.findall(r'"(.*)"', block))


def names_of_tests():
    listed = subprocess.run([CTEST, "--test-dir", BUILD, "-N"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^ *Test +#\d+: (.*)$", listed, re.M)


def turns_of(names):
    """The label of each name, as CMake finds it."""
    script = f"include({TURNS})\nset(sanitizer ADDRESS)\nset(place 0)\n"
    for name in names:
        script += f'set(test {name})\nhalftone_find_turn()\nmessage("${{test}} ${{turn}}")\n'
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
        file.write(script)
        file.flush()
        done = subprocess.run([CMAKE, "-P", file.name], check=True, capture_output=True, text=True)
    return [line.partition(" ")[2] for line in done.stderr.splitlines()]


class TurnsTest(unittest.TestCase):
    def test_every_pattern_names_tests_that_exist(self):
        names = names_of_tests()
        self.assertGreater(len(list(patterns())), 10)
        for pattern in patterns():
            for alternative in re.sub(r".*\((.*)\).*", r"\1", pattern).split("|"):
                one = re.sub(r"\(.*\)", lambda _: alternative, pattern)
                self.assertTrue(any(re.match(one, name) for name in names), one)

    def test_variants_have_all_turns_and_those_of_the_next_test_other_ones(self):
        turns = turns_of([f"ops.Ops/Test.Case/{i}" for i in range(16)])
        self.assertEqual(turns, [f"turn{number % 8}" for number in (*range(8), *range(1, 9))])

    def test_other_tests_have_none(self):
        self.assertEqual(turns_of(["core.Philox.IsRandom", "ops.Ops/A.B/0", "capi.tensor_test"]), ["", "turn0", ""])


if __name__ == "__main__":
    CTEST, CMAKE, BUILD = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
