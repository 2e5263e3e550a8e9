"""A sample has the flags of the C sample, with its choices and its usual values. Run by CTest.

    sample_flags_test.py C_SAMPLE COMMAND...

All print them with --help.
"""

import os
import re
import subprocess
import sys
import unittest

# Pairs of bytes as tokens, and files of another program: only the C sample has them.
ONLY_IN_C = {"--vocab", "--import", "--export"}
c_sample, command = "", []


def help_of(*words):
    return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True,
                          env={**os.environ, "COLUMNS": "1000"}).stdout


def plain(usual):
    """Languages write a number in different ways."""
    try:
        return float(usual)
    except ValueError:
        return usual


def of_c(text):
    """Each flag has two lines: name and meaning, then what is expected and the default."""
    found = {}
    for name, expected in re.findall(r"^  (--[\w-]+).*\n {10,}(.*)$", text, re.MULTILINE):
        values, _, usual = expected.partition("; default ")
        choices = re.split(", | or ", values) if re.fullmatch(r"[\w-]+(, [\w-]+)* or [\w-]+", values) else []
        found[name] = (frozenset(choices), plain(usual))
    return found


def of_python(text):
    """argparse prints the choices in braces. It may break the line before the meaning."""
    options = re.sub(r"\n {10,}", " ", text[text.index("\noptions:"):])
    found = re.findall(r"^  (--[\w-]+)(?: \{([\w,-]+)\})?.*?(?: \(([^()]*)\))?$", options, re.MULTILINE)
    return {name: (frozenset(choices.split(",") if choices else []), plain(usual)) for name, choices, usual in found}


def of_table(text):
    """The samples in Java and C#: the choices follow a colon, the usual value is in parentheses."""
    found = {}
    for name, meaning in re.findall(r"^  (--[\w-]+) +(.*)$", text, re.MULTILINE):
        meaning, _, usual = meaning.removesuffix(")").rpartition(" (") if meaning.endswith(")") else (meaning, "", "")
        choices = re.search(r": ([\w-]+(?:, [\w-]+)+)$", meaning)
        found[name] = (frozenset(choices[1].split(", ") if choices else []), plain(usual))
    return found


class Flags(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.expected = {name: row for name, row in of_c(help_of(c_sample)).items() if name not in ONLY_IN_C}
        text = help_of(*command)
        self.found = (of_python if "\noptions:" in text else of_table)(text)

    def test_are_those_of_c(self):
        self.assertGreater(len(self.expected), 15)
        self.assertEqual(set(self.found), set(self.expected))

    def test_have_the_choices_of_c(self):
        expected = {name: choices for name, (choices, _) in self.expected.items()}
        self.assertTrue(expected["--sharding"])
        self.assertEqual({name: choices for name, (choices, _) in self.found.items()}, expected)

    def test_have_the_usual_values_of_c(self):
        self.assertEqual({name: usual for name, (_, usual) in self.found.items()},
                         {name: usual for name, (_, usual) in self.expected.items()})


if __name__ == "__main__":
    c_sample, *command = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
