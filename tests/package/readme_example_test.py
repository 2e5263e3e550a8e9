#!/usr/bin/python3
"""Compiles the programs of README.md and docs/cpp.md against an installed prefix as README.md says, and runs them.

  tests/package/readme_example_test.py cmake build/release
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

from installed_prefix import InstalledPrefix, run

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
CPP_GUIDE = REPOSITORY / "docs/cpp.md"
EXAMPLE = re.compile(r"```c\n(.*?)```", re.S)
CPP_EXAMPLE = re.compile(r"```cpp\n(.*?)```", re.S)


class ReadmeExample(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    def program(self) -> str:
        programs = EXAMPLE.findall(README.read_text(encoding="utf-8"))
        self.assertEqual(len(programs), 1)
        return programs[0]

    def output_of(self, program: str) -> str:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "example.c").write_text(program, encoding="utf-8")
            prefix = InstalledPrefix(self.cmake, self.build, folder)
            run("cc", "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", folder / "example.c", "-o",
                folder / "example", *prefix.pkg_config("--cflags", "--libs"))
            return prefix.run_program(folder / "example")

    def test_it_compiles_as_strict_c99_and_its_loss_falls(self):
        lines = self.output_of(self.program()).splitlines()
        losses = [float(re.fullmatch(r"step +\d+ +loss (\d+\.\d+)", line)[1]) for line in lines]
        self.assertEqual(len(losses), 5, lines)
        self.assertEqual(losses, sorted(losses, reverse=True))
        # Before training, the loss for two classes is about log 2.
        self.assertGreater(losses[0], 0.5)
        self.assertLess(losses[-1], 0.05)

    def test_its_cpp_program_compiles_as_strict_cpp17_and_its_loss_falls(self):
        programs = CPP_EXAMPLE.findall(CPP_GUIDE.read_text(encoding="utf-8"))
        self.assertEqual(len(programs), 1)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "example.cpp").write_text(programs[0], encoding="utf-8")
            prefix = InstalledPrefix(self.cmake, self.build, folder)
            run("c++", "-std=c++17", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", folder / "example.cpp", "-o",
                folder / "example", *prefix.pkg_config("--cflags", "--libs"))
            losses = [float(line.split()[-1]) for line in prefix.run_program(folder / "example").splitlines()]
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0] / 100)


if __name__ == "__main__":
    ReadmeExample.cmake, ReadmeExample.build = sys.argv[1], Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
