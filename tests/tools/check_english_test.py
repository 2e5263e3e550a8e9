#!/usr/bin/python3
"""tools/check_english.py finds openings and words in comments and documents, and leaves plain text and code alone."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from check_english import (  # noqa: E402
    REPOSITORY, comments_of_c, comments_of_script, findings, is_for_users, paragraphs_of, tracked_files)


def faults(texts, for_users=False):
    return [(text.line, fault) for text in texts for fault in findings(text, for_users)]


class CheckEnglish(unittest.TestCase):
    def test_a_comment_that_opens_with_a_clause_is_found(self):
        self.assertEqual(faults(comments_of_c("int a;\n// Whether it is set.\nint b;  // Of the last step.\n")),
                         [(2, 'opens with "Whether"'), (3, 'opens with "Of"')])

    def test_only_the_first_line_of_a_comment_opens_it(self):
        self.assertEqual(faults(comments_of_c("// The buffer is released\n// Where no view is left.\n")), [])

    def test_a_blank_line_begins_another_comment(self):
        self.assertEqual(len(faults(comments_of_c("// One.\n\n// What is two.\n"))), 1)

    def test_a_banned_word_is_found_in_comments_messages_and_documents(self):
        self.assertEqual(faults(comments_of_c('fail("it answered 3"); /* Answers\n * nothing. */\n'))[0][0], 1)
        self.assertEqual(len(faults(comments_of_c('fail("it answered 3"); /* Answers\n * nothing. */\n'))), 2)
        self.assertEqual(len(faults(comments_of_script("# The host's table.\nrun  # to the bit\n"))), 2)
        self.assertEqual(len(faults(paragraphs_of("It stands in a file.\n"))), 1)

    def test_further_words_are_found_in_texts_for_users_alone(self):
        for line in ("The call tells its result.", "It was told.", "A layer takes two inputs.", "Release takes NULL."):
            self.assertTrue(faults(paragraphs_of(line), for_users=True), line)
            self.assertEqual(faults(paragraphs_of(line)), [], line)

    def test_idioms_are_found(self):
        for line in ("Nobody waits.", "Somebody waits.", "A rank sets out weights.", "They are set out.", "It is on its way."):
            self.assertEqual(len(faults(paragraphs_of(line))), 1, line)

    def test_time_memory_part_and_place_may_be_taken(self):
        for line in ("A step takes about 3 ms.", "It takes as long as ten messages.", "Values take half the memory.",
                     "Each rank takes part.", "It takes place once.", "A run takes some", "A save takes the lock."):
            self.assertEqual(faults(paragraphs_of(line), for_users=True), [], line)

    def test_documents_and_public_headers_are_for_users(self):
        names = ("README.md", "docs/gpu.md", "capi/include/halftone/nn.h", "impl/nn/linear.h", "tests/run")
        self.assertEqual([is_for_users(REPOSITORY / name) for name in names], [True, True, True, False, False])

    def test_host_against_device_is_the_term_of_the_field(self):
        self.assertEqual(faults(comments_of_c("// Copies host memory; a host-device function.\n")), [])

    def test_the_public_headers_are_read(self):
        names = {path.name for path in tracked_files(["capi/include"])}
        self.assertEqual(names, {path.name for path in (REPOSITORY / "capi/include/halftone").glob("*.h*")})

    def test_a_fault_that_is_planted_in_a_public_header_is_found(self):
        header = (REPOSITORY / "capi/include/halftone/arithmetic.h").read_text(encoding="utf-8")
        self.assertEqual(faults(comments_of_c(header)), [])
        for plain, planted in (("/** @file\n * Arithmetic", "/** @file\n * What arithmetic"),
                               ("/** Subtracts element by element", "/** Of two tensors the host gets"),
                               (" * @param[out] out broadcast shape", " * @param[out] out stands in memory")):
            self.assertIn(plain, header)
            self.assertTrue(faults(comments_of_c(header.replace(plain, planted, 1))), planted)

    def test_code_is_no_english(self):
        self.assertEqual(faults(comments_of_c("int answers = What(host);\n")), [])
        self.assertEqual(faults(paragraphs_of("Call `answers()`.\n```c\n/* What */\n```\n")), [])


if __name__ == "__main__":
    unittest.main()
