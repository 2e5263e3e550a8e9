#!/usr/bin/python3
"""Checks docs/seed-claims.md: each row has a result and names tests that exist.

  tests/docs/seed_claims_test.py
"""
import re
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "docs/seed-claims.md").read_text(encoding="utf-8")
FILE = re.compile(r"^\| ([a-z0-9]+) \| (tests/\S+) \|$", re.M)
ENTRY = re.compile(r"([a-z0-9]+): (`\w+(?:\.\.\.)?`(?:, `\w+(?:\.\.\.)?`)*)")
RESULTS = ("yes", "no", "in part", "open")


def claims() -> list[list[str]]:
    rows = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return [row for row in cells if len(row) != 2 and row[0] != "claim"]


def has_test(source: str, name: str) -> bool:
    """True if a source in C, C++ or Python defines this test, or with dots behind the name one that begins with it."""
    stem = re.escape(name.removesuffix("..."))
    end = r"\w" if name.endswith("...") else r"\b"
    return re.search(rf"^\s*(?:static void |TEST\w*\(\w+, |def ){stem}{end}", source, re.M) is not None


class SeedClaims(unittest.TestCase):
    def setUp(self):
        self.files = {name: (REPOSITORY / path).read_text(encoding="utf-8") for name, path in FILE.findall(TEXT)}

    def test_each_row_has_a_result_and_a_test(self):
        rows = claims()
        self.assertGreater(len(rows), 80)
        for row in rows:
            with self.subTest(claim=row[0]):
                self.assertEqual(len(row), 5)
                self.assertTrue(row[0] and row[1] and row[4])
                self.assertIn(row[2], RESULTS)
                self.assertTrue(row[3] or row[2] == "yes", "a claim that does not agree needs a reason")

    def test_each_named_test_exists(self):
        used = set()
        for row in claims():
            for part in row[4].split("; "):
                with self.subTest(claim=row[0], part=part):
                    if part in ("the same", "none"):
                        continue
                    entry = ENTRY.fullmatch(part)
                    self.assertIsNotNone(entry)
                    used.add(entry[1])
                    for name in re.findall(r"`(.*?)`", entry[2]):
                        self.assertTrue(has_test(self.files[entry[1]], name), name)
        self.assertEqual(sorted(set(self.files) - used), [], "files that no row names")

    def test_a_row_without_a_test_says_why(self):
        for row in claims():
            if row[4] == "none":
                self.assertRegex(row[1] + row[3], r"not measured here|no measurement|a definition|no price", row[0])

    def test_a_test_that_does_not_exist_is_found(self):
        source = "static void one_is_one(void** state) {\nTEST_F(Suite, TwoIsTwo) {\n    def test_three(self):\n"
        for name in ("one_is_one", "one_...", "TwoIsTwo", "TwoIs...", "test_three"):
            self.assertTrue(has_test(source, name), name)
        for name in ("one_is", "is_one", "one_is_one...", "Suite", "TwoIsTwoToo", "three"):
            self.assertFalse(has_test(source, name), name)


if __name__ == "__main__":
    unittest.main()
