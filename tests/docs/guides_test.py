#!/usr/bin/python3
"""Compiles the program of each guide against an installed prefix, runs it, and compares its output with the guide's.
Checks that all documents only name functions and types that the headers declare, and that their links lead to files.

The C blocks of a guide are one program, in their order; its text blocks are the output.

  tests/docs/guides_test.py cmake build/release
"""
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/package"))
from installed_prefix import InstalledPrefix, run  # noqa: E402

GUIDES = ("autocast-and-scaling.md", "checkpoints.md", "first-model.md", "formats.md", "low-precision.md",
          "many-processes.md", "model-statistics.md", "own-gradients.md", "ownership-and-threads.md", "trainer.md",
          "training-statistics.md")
HEADERS = REPOSITORY / "capi/include/halftone"
NAME = re.compile(r"\bhtone_[a-z0-9][a-z0-9_]*")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
CODE = re.compile(r"^```.*?^```|`[^`]*`", re.S | re.M)


def blocks(text: str, language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M))


class Guides(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    def test_each_program_prints_what_its_guide_shows(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prefix = InstalledPrefix(self.cmake, self.build, folder)
            os.chdir(folder)  # for the files that the programs write
            for guide in GUIDES:
                with self.subTest(guide=guide):
                    text = (REPOSITORY / "docs" / guide).read_text(encoding="utf-8")
                    (folder / "guide.c").write_text(blocks(text, "c"), encoding="utf-8")
                    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", folder / "guide.c", "-o", folder / "guide",
                        *prefix.pkg_config("--cflags", "--libs"))
                    self.assertEqual(prefix.run_program(folder / "guide"), blocks(text, "text"))

    def test_documents_only_name_what_the_headers_declare(self):
        generated = self.build / "generated/include/halftone"
        headers = [*HEADERS.glob("*.h"), *generated.glob("*.h")]
        declared = {name for header in headers for name in NAME.findall(header.read_text(encoding="utf-8"))}
        for document in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]:
            with self.subTest(document=document.name):
                named = set(NAME.findall(document.read_text(encoding="utf-8")))
                self.assertEqual(sorted(named - declared), [])

    def test_links_lead_to_files(self):
        patterns = ("*.md", "docs/*.md", "bindings/*.md", "tests/**/*.md")
        documents = [path for pattern in patterns for path in REPOSITORY.glob(pattern)]
        links = [(document, link) for document in documents
                 for link in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8")))]
        self.assertGreater(len(links), 30)
        self.assertEqual([f"{document.relative_to(REPOSITORY)}: {link}" for document, link in links
                          if not (document.parent / link).exists()], [])


if __name__ == "__main__":
    Guides.cmake, Guides.build = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
