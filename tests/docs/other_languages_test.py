#!/usr/bin/python3
"""Runs the commands of docs/other-languages.md against an installed prefix: each program trains, in every language whose
compiler is installed.

  tests/docs/other_languages_test.py cmake build/release
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/package"))
from installed_prefix import InstalledPrefix, run  # noqa: E402

PAGE = REPOSITORY / "docs/other-languages.md"
# The tools of each section's commands, and the Debian packages that have them.
SECTIONS = {"Rust": ("rustc", "rustc"), "Go": ("go", "golang-go"), "Fortran": ("gfortran", "gfortran"),
            "LuaJIT, and other languages that read C declarations": ("luajit", "luajit"),
            "A plugin: SQLite": ("sqlite3", "sqlite3 libsqlite3-dev")}
LOSS = re.compile(r"step 100  loss (0\.\d+)\nstep 200  loss (0\.\d+)\n")


def section(title: str) -> str:
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.S | re.M)[1]


def block(text: str, language: str) -> str:
    return re.search(rf"^```{language}\n(.*?)^```", text, re.S | re.M)[1]


class OtherLanguages(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        # rustc, cgo and gfortran take the path of a library as it is, so this one has no space.
        shutil.copytree(InstalledPrefix(cls.cmake, cls.build, cls.folder).path, cls.folder / "build/install", symlinks=True)
        (cls.folder / "samples").symlink_to(REPOSITORY / "samples")
        cls.setup = block(PAGE.read_text(encoding="utf-8"), "sh")

    def output_of(self, title: str) -> str:
        tool, packages = SECTIONS[title]
        if not shutil.which(tool):
            print(f"skipped: {title}: {tool} is not installed (Debian: {packages})")
            self.skipTest(f"{tool} is not installed")
        # Go keeps compiled packages; here they must not go to the home directory.
        script = f"export GOCACHE=$PWD/go-cache\n{self.setup}{block(section(title), 'sh')}"
        return run("bash", "-euc", script, cwd=self.folder)

    def assert_trains(self, title: str):
        losses = LOSS.fullmatch(self.output_of(title))
        self.assertIsNotNone(losses)
        self.assertLess(float(losses[2]), float(losses[1]))
        self.assertLess(float(losses[2]), 0.05)

    def test_rust(self):
        self.assert_trains("Rust")

    def test_go(self):
        self.assert_trains("Go")

    def test_fortran(self):
        self.assert_trains("Fortran")

    def test_luajit(self):
        self.assert_trains("LuaJIT, and other languages that read C declarations")

    def test_an_extension_of_sqlite_trains_and_exports_nothing_of_the_library(self):
        title = "A plugin: SQLite"
        self.assertEqual(self.output_of(title), block(section(title), "text"))
        self.assertNotIn("htone_", run("nm", "-D", "--defined-only", self.folder / "halftone_sqlite.so"))
        wrong = subprocess.run(["sqlite3", ":memory:", ".load ./halftone_sqlite sqlite3_sqliteextension_init",
                                "SELECT ht_train(7, 0, 0)"], cwd=self.folder, capture_output=True, text=True)
        self.assertIn("htone_cross_entropy: ", wrong.stderr)

    def test_every_section_with_commands_is_run(self):
        titles = re.findall(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), re.M)
        self.assertEqual({title for title in titles if "```sh" in section(title)}, set(SECTIONS))


if __name__ == "__main__":
    OtherLanguages.cmake, OtherLanguages.build = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
