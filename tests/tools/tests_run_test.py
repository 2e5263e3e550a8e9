#!/usr/bin/python3
"""How tests/run begins in a checkout where nothing was built, and what its last lines tell: the compiler and the tests are
played, and nothing is installed."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

CMAKE = """#!/bin/sh
case "$* $BROKEN" in --build*release*build) ;; *) exit 0 ;; esac
echo "[1/2] Building CXX object good.o"
echo "FAILED: bad.o"
echo "bad.cpp:1: error: what is this?"
echo "[2/2] Building CXX object late.o"
echo "ninja: build stopped: subcommand failed."
exit 1
"""
CTEST = """#!/bin/sh
mkdir -p "build/$2/Testing/Temporary"
echo "$HALFTONE_TEST_ROTATION: $*" >"build/$2/Testing/arguments"
echo "skipped: too dark" >"build/$2/Testing/Temporary/LastTest.log"
echo "      Start 1: good"
echo "1/2 Test #1: good ........   Passed    0.01 sec"
[ "$2 $BROKEN" = "release tests" ] || exit 0
echo "2/2 Test #2: bad .........***Failed    0.01 sec"
echo "expected night, found day"
echo
echo "50% tests passed, 1 tests failed out of 2"
echo
echo "The following tests FAILED:"
echo "	  2 - bad (Failed)"
echo "Errors while running CTest"
exit 8
"""


class TestsRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "checkout"
        self.commands = Path(folder.name) / "commands"
        self.add_program(self.commands / "cmake", CMAKE)
        self.add_program(self.commands / "ctest", CTEST)
        for name in ("install_for_library.sh", "install_packages.sh"):
            self.add_program(self.root / "tools" / name, "#!/bin/sh\n")
        (self.root / "tests").mkdir()
        for name in ("run", "turns.cmake"):
            shutil.copy(REPOSITORY / "tests" / name, self.root / "tests")

    @staticmethod
    def add_program(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_parts(self, *parts, broken="", rotation=""):
        environment = os.environ | {"PATH": f"{self.commands}:{os.environ['PATH']}", "BROKEN": broken,
                                    "HALFTONE_TEST_ROTATION": rotation}
        return subprocess.run([self.root / "tests/run", *parts], env=environment, capture_output=True, text=True)

    def last_part(self, done):
        """The output after the last part."""
        return done.stdout.partition("== release FAILED; all of its output is in build/release.log:\n")[2].splitlines()

    def test_a_checkout_without_a_build_folder_is_where_it_begins(self):
        done = self.run_parts("release", "asan")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 skipped: too dark\n", done.stdout)
        self.assertRegex(done.stdout, r"\ntests/run: release passed \(build \d+ s, tests \d+ s\), asan passed \(build \d+ s, tests \d+ s\)\n$")

    def test_a_test_that_failed_is_told_again_at_the_end(self):
        done = self.run_parts("release", "asan", broken="tests")
        self.assertEqual(done.returncode, 1)
        names, result, reason, summary = self.last_part(done)
        self.assertEqual((names, reason), ("\t  2 - bad (Failed)", "expected night, found day"))
        self.assertIn("bad .........***Failed", result)
        self.assertRegex(summary, r"^tests/run: release FAILED \(build \d+ s, tests \d+ s\), asan passed \(build \d+ s, tests \d+ s\)$")

    def test_what_would_not_compile_is_told_again_at_the_end(self):
        done = self.run_parts("release", "asan", broken="build")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.last_part(done)[:-1], ["FAILED: bad.o", "bad.cpp:1: error: what is this?"])

    def test_another_failure_is_told_by_its_last_words(self):
        self.add_program(self.commands / "cmake", "#!/bin/sh\necho no generator >&2\nexit 1\n")
        self.assertEqual(self.last_part(self.run_parts("release"))[:-1], ["no generator"])

    def asked_of_ctest(self, preset, rotation):
        """The tests' own rotation, and the selection of tests."""
        self.assertEqual(self.run_parts(preset, rotation=rotation).returncode, 0)
        line = (self.root / "build" / preset / "Testing/arguments").read_text(encoding="utf-8").strip()
        own, _, arguments = line.partition(": ")
        return own, arguments.partition("--label-regex ")[2]

    def test_sanitizers_take_one_turn_of_the_tests_and_the_shares_move_on_after_all_turns(self):
        for preset in ("asan", "tsan"):
            self.assertEqual(self.asked_of_ctest(preset, "13"), ("1", "^(quick|full|turn5)$"))
            self.assertEqual(self.asked_of_ctest(preset, "16"), ("2", "^(quick|full|turn0)$"))

    def test_days_count_where_the_history_has_no_number(self):
        days = int(time.time()) // 86400
        own, selection = self.asked_of_ctest("asan", "")
        self.assertIn((int(own), selection), [(day // 8, f"^(quick|full|turn{day % 8})$") for day in (days, days + 1)])

    def test_all_tests_run_without_a_sanitizer_or_when_all_are_wanted(self):
        self.assertEqual(self.asked_of_ctest("release", "7"), ("7", ""))
        self.assertEqual(self.asked_of_ctest("asan", "full"), ("full", ""))

    def test_the_library_builds_while_the_packages_of_the_tests_are_missing(self):
        for name in ("install_for_library.sh", "install_packages.sh"):
            self.add_program(self.root / "tools" / name, "#!/bin/sh\necho no mirror >&2\nexit 1\n")
        self.assertEqual(self.run_parts("library").returncode, 0)
        for part in ("packages", "release"):
            self.assertNotEqual(self.run_parts(part).returncode, 0)

    def test_what_is_no_part_is_refused(self):
        done = self.run_parts("release", "realease")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown part realease", done.stderr)
        self.assertFalse((self.root / "build").exists())


if __name__ == "__main__":
    unittest.main()
