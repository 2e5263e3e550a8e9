#!/usr/bin/python3
"""The gate answers 0 for what an old program survives, and something else for every change that would break one.

  planted_changes_test.py LIBHALFTONE     with debug information

A small library in C is the baseline; every test compiles a changed one and asks tools/check_abi.py.
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CHECK = REPOSITORY / "tools/check_abi.py"
HEADER = """#include <stdint.h>
typedef enum htone_kind { HTONE_A = 0, HTONE_B = 1 } htone_kind;
typedef struct htone_x_options {
  uint32_t struct_size;
  int32_t width;
  double rate;
} htone_x_options;
typedef struct htone_outcome {
  uint32_t struct_size;
  int32_t skipped;
} htone_outcome;
int32_t htone_run(const htone_x_options* options, htone_outcome* out_outcome);
int32_t htone_choose(htone_kind kind);
"""
SOURCE = """#include "planted.h"
int32_t htone_run(const htone_x_options* options, htone_outcome* out_outcome) {
  return options->width + out_outcome->skipped;
}
int32_t htone_choose(htone_kind kind) { return kind == HTONE_B; }
"""


class PlantedChange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.baseline = self.folder / "baseline.abi"
        self.check(self.compile("old", HEADER, SOURCE), "--write", self.baseline)

    def compile(self, name: str, header: str, source: str) -> Path:
        (self.folder / name).mkdir()
        (self.folder / name / "planted.h").write_text(header, encoding="utf-8")
        (self.folder / name / "planted.c").write_text(source, encoding="utf-8")
        library = self.folder / name / "libplanted.so"
        subprocess.run(["cc", "-g", "-shared", "-fPIC", self.folder / name / "planted.c", "-o", library], check=True)
        return library

    def check(self, library: Path, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-B", CHECK, library, *arguments], capture_output=True, text=True)

    def outcome(self, old: str = "", new: str = "", added: str = "") -> int:
        """The gate's answer to a library where `new` stands for `old`, in the header or in the source."""
        self.assertIn(old, HEADER + SOURCE)
        library = self.compile("new", HEADER.replace(old, new), SOURCE.replace(old, new) + added)
        return self.check(library, "--baseline", self.baseline).returncode

    def test_the_same_library_passes(self):
        self.assertEqual(self.outcome(), 0)

    def test_a_new_function_passes(self):
        self.assertEqual(self.outcome(added="int32_t htone_more(void) { return 1; }\n"), 0)

    def test_a_member_appended_to_options_passes(self):
        self.assertEqual(self.outcome("double rate;\n", "double rate;\n  int64_t steps;\n"), 0)

    def test_a_member_in_the_middle_of_options_is_a_fault(self):
        self.assertNotEqual(self.outcome("double rate;\n", "int64_t steps;\n  double rate;\n"), 0)

    def test_a_member_of_another_type_is_a_fault(self):
        self.assertNotEqual(self.outcome("int32_t skipped;\n", "float skipped;\n"), 0)

    def test_a_removed_member_is_a_fault(self):
        self.assertNotEqual(self.outcome("  double rate;\n", ""), 0)

    def test_a_member_appended_to_a_result_is_a_fault(self):
        self.assertNotEqual(self.outcome("int32_t skipped;\n", "int32_t skipped;\n  int64_t rank;\n"), 0)

    def test_another_type_of_a_parameter_is_a_fault(self):
        self.assertNotEqual(self.outcome("htone_choose(htone_kind kind)", "htone_choose(int64_t kind)"), 0)

    def test_another_result_is_a_fault(self):
        self.assertNotEqual(self.outcome("int32_t htone_choose", "int64_t htone_choose"), 0)

    def test_another_value_of_an_enumerator_is_a_fault(self):
        self.assertNotEqual(self.outcome("HTONE_B = 1", "HTONE_B = 2"), 0)

    def test_a_renamed_function_is_a_fault(self):
        self.assertNotEqual(self.outcome("htone_choose", "htone_choose_v2"), 0)


class Layouts(unittest.TestCase):
    """struct_layouts.c against a copy of the headers with a change in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(REPOSITORY / "capi/include", self.root / "capi/include")
        (self.root / "cmake").mkdir()
        shutil.copy(REPOSITORY / "cmake/version.h.in", self.root / "cmake")
        shutil.copy(REPOSITORY / "cmake/version.h.in", self.root / "capi/include/halftone/version.h")

    def plant(self, old: str, new: str) -> None:
        header = self.root / "capi/include/halftone/sgd.h"
        text = header.read_text(encoding="utf-8")
        self.assertIn(old, text)
        header.write_text(text.replace(old, new, 1), encoding="utf-8")

    def compiles(self) -> bool:
        return subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{self.root / 'capi/include'}",
                               REPOSITORY / "tests/abi/struct_layouts.c"], capture_output=True).returncode == 0

    def test_the_headers_as_they_are_pass(self):
        self.assertTrue(self.compiles())

    def test_an_appended_member_compiles_and_is_missed_by_the_check(self):
        self.plant("} htone_sgd_options;", "  int64_t planted;\n} htone_sgd_options;")
        self.assertTrue(self.compiles())
        done = subprocess.run([sys.executable, "-B", REPOSITORY / "tools/check_layouts.py", "--root", self.root],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not pin offsetof(htone_sgd_options, planted)", done.stdout)

    def test_a_member_in_the_middle_does_not_compile(self):
        self.plant("  double momentum;", "  double planted;\n  double momentum;")
        self.assertFalse(self.compiles())

    def test_another_type_of_the_same_size_does_not_compile(self):
        self.plant("  double momentum;", "  int64_t momentum;")
        self.assertFalse(self.compiles())


class TheLibrary(unittest.TestCase):
    library = Path()

    def test_a_function_that_the_library_has_lost_is_a_fault(self):
        text = (REPOSITORY / "tests/abi/libhalftone.abi").read_text(encoding="utf-8")
        self.assertIn("htone_matmul", text)
        with tempfile.TemporaryDirectory() as folder:
            baseline = Path(folder, "baseline.abi")
            baseline.write_text(text.replace("htone_matmul", "htone_matmul_of_old"), encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", CHECK, self.library, "--baseline", baseline], capture_output=True,
                                  text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("htone_matmul_of_old", done.stdout)

    def test_the_baseline_names_no_place_of_the_machine_that_wrote_it(self):
        text = (REPOSITORY / "tests/abi/libhalftone.abi").read_text(encoding="utf-8")
        self.assertNotIn(str(REPOSITORY), text)
        self.assertNotRegex(text, r"(path|comp-dir-path|filepath)='/")


if __name__ == "__main__":
    TheLibrary.library = Path(sys.argv.pop(1))
    unittest.main()
