#!/usr/bin/python3
"""Installs the build, moves the prefix, and links a C program against it in every way that README.md describes.

  tests/package/moved_prefix_test.py cmake build/release
"""
import sys
import tempfile
import unittest
from pathlib import Path

from installed_prefix import InstalledPrefix, run

CONSUMER = Path(__file__).resolve().parent / "consumer"
EXPECTED = "1.75 1\n"


class MovedPrefix(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.prefix = InstalledPrefix(cls.cmake, cls.build, cls.folder)

    def compile(self, name: str, flags: list[str]) -> Path:
        program = self.folder / name
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", CONSUMER / "program.c", "-o", program, *flags)
        return program

    def test_nothing_remembers_where_it_was_installed(self):
        for path in self.prefix.path.rglob("*"):
            if path.is_file():
                self.assertNotIn(str(self.prefix.first).encode(), path.read_bytes(), path)

    def test_the_installed_files_are_the_public_ones(self):
        headers = {path.name for path in (self.prefix.path / "include").rglob("*.h*")}
        sources = {path.name for path in (CONSUMER.parents[2] / "capi/include/halftone").glob("*.h*")} | {"version.h"}
        self.assertEqual(headers, sources)
        self.assertEqual([path.name for path in self.prefix.path.rglob("LICENSE")], ["LICENSE"])

    def test_pkg_config_links_the_shared_library(self):
        program = self.compile("shared", self.prefix.pkg_config("--cflags", "--libs"))
        self.assertRegex(run("readelf", "-d", program), r"NEEDED.*libhalftone\.so\.0\.1\]")
        self.assertEqual(self.prefix.run_program(program), EXPECTED)

    def test_pkg_config_static_links_the_archive(self):
        program = self.compile("static", self.prefix.pkg_config("--cflags", "--libs", package="halftone-static"))
        self.assertNotIn("libhalftone", run("readelf", "-d", program))
        self.assertEqual(run(program), EXPECTED)

    def test_a_shared_object_does_not_export_the_archive(self):
        flags = self.prefix.pkg_config("--cflags", "--libs", package="halftone-static")
        plugin = self.compile("plugin.so", ["-shared", "-fPIC", *flags])
        exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", plugin).splitlines()}
        self.assertEqual(exported, {"main"})

    def test_find_package_gives_both_targets_to_a_c_project(self):
        build = self.folder / "consumer"
        run(self.cmake, "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix.path}")
        run(self.cmake, "--build", build)
        for name in ("shared", "static"):
            self.assertEqual(run(build / name), EXPECTED)
        self.assertNotIn("libhalftone", run("readelf", "-d", build / "static"))
        self.assertNotIn("htone_", run("nm", "-D", "--defined-only", build / "libplugin.so"))


if __name__ == "__main__":
    MovedPrefix.cmake, MovedPrefix.build = sys.argv[1], Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
