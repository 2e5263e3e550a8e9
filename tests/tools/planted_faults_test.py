#!/usr/bin/python3
"""Each check of tools/ passes on the tree as it is and fails, naming the place, where a fault is planted in a copy."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))
from public_headers import all_functions  # noqa: E402


class PlantedFault(unittest.TestCase):
    """A copy of what the checks read; subclasses name the check and plant one fault a test."""

    check = ""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        shutil.copytree(REPOSITORY / "capi", self.root / "capi")
        (self.root / "cmake").mkdir()
        shutil.copy(REPOSITORY / "cmake/version.h.in", self.root / "cmake")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def run_check(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, REPOSITORY / "tools" / self.check, "--root", self.root, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def assert_clean(self, *arguments: str) -> None:
        done = self.run_check(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_fault(self, expected: str, *arguments: str) -> None:
        done = self.run_check(*arguments)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(expected, done.stdout)


class Layers(PlantedFault):
    check = "check_layers.py"

    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / "impl", self.root / "impl")

    def assert_include_fault(self, path: str, target: str, expected: str) -> None:
        self.write(path, f"#include {target}\n")
        self.assert_fault(f"{path}:1: includes {target.strip('<>').strip(chr(34))}: {expected}")

    def test_the_tree_as_it_is_passes(self):
        self.assert_clean()

    def test_core_may_not_see_tensor(self):
        self.assert_include_fault("impl/core/planted.h", '"tensor/tensor.h"', "core may include ['core']")

    def test_optim_may_not_see_parallel(self):
        self.assert_include_fault("impl/optim/planted.cpp", '"parallel/bucket.h"', "optim may include")

    def test_an_arrow_that_no_file_uses_is_found(self):
        shutil.rmtree(self.root / "impl/analysis")
        self.assert_fault("analysis -> optim: no file uses this arrow")

    def test_an_interface_of_plugins_may_not_see_containers(self):
        self.assert_include_fault("impl/comm/group/work.h", "<vector>", "plugins implement this interface")

    def test_impl_may_not_see_the_c_api(self):
        self.assert_include_fault("impl/ops/planted.cpp", '"halftone/tensor.h"', "impl knows no C type")

    def test_a_relative_path_names_no_room(self):
        self.assert_include_fault("impl/ops/planted.cpp", '"../core/dtype.h"', "names no room")

    def test_cuda_headers_stay_in_their_folder(self):
        self.assert_include_fault("impl/ops/planted.cpp", "<cuda_runtime.h>", "only impl/cuda")
        self.assert_include_fault("impl/ops/planted.cpp", "<nccl.h>", "only impl/comm/nccl")
        self.assert_include_fault("impl/ops/planted.cpp", "<gloo/context.h>", "only impl/comm/gloo")

    def test_simd_stays_in_the_cpu_backend(self):
        self.assert_include_fault("impl/ops/planted.cpp", "<hwy/highway.h>", "only impl/cpu")

    def test_a_public_header_stands_on_public_headers(self):
        self.assert_include_fault("capi/include/halftone/planted.h", "<stdio.h>", "a public header includes")

    def test_samples_and_bindings_see_public_headers_alone(self):
        self.assert_include_fault("samples/c/planted.c", '"tensor/tensor.h"', "users see halftone/... alone")
        self.assert_include_fault("bindings/swig/planted.i", '"../../impl/core/dtype.h"', "it lies inside the library")

    def test_a_room_must_be_in_the_picture(self):
        self.write("impl/helpers/planted.h", "")
        self.assert_fault("impl/helpers: is no room of the picture")

    def test_a_circle_is_found(self):
        self.write("impl/ops/first.h", '#include "ops/second.h"\n')
        self.write("impl/ops/second.h", '#include "ops/first.h"\n')
        self.assert_fault("circle: impl/ops/first.h -> impl/ops/second.h -> impl/ops/first.h")

    def test_only_registries_ask_which_backends_there_are(self):
        self.write("impl/ops/planted.cpp", "#ifdef HALFTONE_CUDA\n#endif\n")
        self.assert_fault("impl/ops/planted.cpp: #ifdef HALFTONE_CUDA")


class Ops(PlantedFault):
    check = "check_ops.py"

    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / "impl/ops", self.root / "impl/ops")
        shutil.copytree(REPOSITORY / "tests/capi", self.root / "tests/capi")
        shutil.copytree(REPOSITORY / "tests/vectors/runner", self.root / "tests/vectors/runner")

    def test_the_operations_as_they_are_pass(self):
        self.assert_clean()

    def test_an_operation_without_a_test_is_missed(self):
        self.replace("impl/ops/dispatch/op.cpp", '"relu", AutocastClass::kAsIs}',
                     '"relu", AutocastClass::kAsIs}, {Op::kPlanted, "planted", AutocastClass::kLow}')
        self.assert_fault("planted: no test in C and no vector calls it")


class Faults(PlantedFault):
    check = "check_faults.py"
    table = "tests/faults.md"

    def setUp(self):
        super().setUp()
        shutil.copytree(REPOSITORY / "tests", self.root / "tests")

    def assert_faults(self, *expected: str) -> None:
        done = self.run_check()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for fault in expected:
            self.assertIn(fault, done.stdout)

    def test_the_catalogue_as_it_is_passes(self):
        self.assert_clean()

    def test_a_row_that_is_missing_twice_there_unknown_or_without_tests_is_seen(self):
        self.replace(self.table, "| M5 |", "| M6 |")
        self.replace(self.table, "| N12 |", "| N99 |")
        self.replace(self.table, "`exhaustive.kill_sample`", "none")
        self.assert_faults("row M5 is missing", "row M6 stands twice", "row N99 is none that is expected",
                           "row S1 has no test")

    def test_a_test_that_is_gone_or_names_another_row_is_seen(self):
        self.replace("tests/capi/base/memory_test.c", "void the_hosts_allocator_gets_everything_back(", "void gone(")
        self.replace("tests/cpu/optim/schedule_test.cpp", "// N11:", "// N1:")
        self.replace("tests/runtime/plugin_test.cpp", "OfAnotherBuildIsRefusedNamingBoth", "Gone")
        self.assert_faults("row A6: capi.memory_test/the_hosts_allocator_gets_everything_back is in no source",
                           "row N11: cpu.BeginStep.CountsBeyondTwoToThe24 in tests/cpu/optim/schedule_test.cpp "
                           "names no N11",
                           "row A13: runtime.Plugin.OfAnotherBuildIsRefusedNamingBoth is in no source")


class Docs(PlantedFault):
    check = "check_docs.py"
    ops = "capi/include/halftone/activation.h"

    def test_the_headers_as_they_are_pass(self):
        self.assert_clean()

    def test_each_part_of_a_comment_is_missed(self):
        relu = """ * @param[in] input any shape, float; borrowed.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_relu("""
        original = (self.root / self.ops).read_text(encoding="utf-8")
        cases = ((" * @param[in] input any shape, float; borrowed.\n", "htone_relu: documents the parameters ['out']"),
                 (" * @since 0.1\n", "htone_relu: has no @since"),
                 ("INVALID_HANDLE, ", "htone_relu: takes a handle, but INVALID_HANDLE"))
        for part, expected in cases:
            with self.subTest(part=part):
                self.write(self.ops, original)
                self.replace(self.ops, relu, relu.replace(part, "", 1))
                self.assert_fault(expected)

    def test_a_function_without_errors_is_found(self):
        self.replace(self.ops, " * @errors ", " * ")
        self.assert_fault("htone_relu: has no @errors")

    def test_a_status_that_does_not_exist_is_found(self):
        self.replace(self.ops, "INVALID_ARGUMENT, DTYPE_MISMATCH", "WRONG_SHAPE, DTYPE_MISMATCH")
        self.assert_fault("htone_relu: names the unknown status WRONG_SHAPE")

    def test_a_function_without_a_comment_is_found(self):
        self.replace(self.ops, "/** The two formulas of htone_gelu. */", "HTONE_API htone_status htone_planted(void);")
        self.assert_fault("htone_planted: has no comment")

    def test_an_enumerator_without_a_comment_is_found(self):
        self.replace("capi/include/halftone/base.h", " /**< success */", "")
        self.assert_fault("HTONE_OK has no comment")

    def test_a_long_line_and_a_long_header_are_found(self):
        self.write("capi/include/halftone/planted.h", "/*" + "x" * 117 + "*/\n" + "\n" * 300)
        self.assert_fault("planted.h:1: longer than 120 columns")
        self.assert_fault("planted.h: longer than 300 lines")


class Headers(PlantedFault):
    """Among two headers alone, for each costs six runs of a compiler."""

    check = "check_headers.py"

    def setUp(self):
        super().setUp()
        for header in (self.root / "capi/include/halftone").glob("*.h*"):
            if header.name != "base.h":
                header.unlink()
        template = (REPOSITORY / "cmake/version.h.in").read_text(encoding="utf-8")
        self.write("generated/halftone/version.h", re.sub(r"@\w+@", "0", template))

    def test_headers_that_stand_alone_pass(self):
        self.assert_clean(str(self.root / "generated"))

    def test_a_header_that_leans_on_another_is_found(self):
        self.write("capi/include/halftone/planted.h", "extern htone_status planted;\n")
        self.assert_fault("planted.h: g++ -std=c++20", str(self.root / "generated"))

    def test_what_is_no_c99_is_found(self):
        self.write("capi/include/halftone/planted.h", "_Static_assert(1, \"\");\n")
        self.assert_fault("planted.h: gcc -std=c99", str(self.root / "generated"))

    def test_names_that_differ_by_case_alone_are_found(self):
        self.write("capi/include/halftone/planted.h", "#define HTONE_STATUS_NAME 1\n")
        self.assert_fault("HTONE_STATUS_NAME and htone_status_name differ by case alone", str(self.root / "generated"))

    def test_a_result_that_must_not_be_ignored_is_found(self):
        base = "capi/include/halftone/base.h"
        self.replace(base, "HTONE_API htone_status htone_error_set", "HTONE_EXPORT htone_status htone_error_set")
        self.assert_fault("htone_error_set is HTONE_EXPORT, not HTONE_API", str(self.root / "generated"))


class Symbols(PlantedFault):
    check = "check_symbols.py"

    def build(self, more: str = "", *flags: str) -> str:
        names = [function.name for function in all_functions(self.root)]
        self.write("stand_in.c", "".join(f"void {name}(void) {{}}\n" for name in names) + more)
        library = self.root / "stand_in.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-z,nodelete", "-Wl,-Bsymbolic", "-o", library,
                        self.root / "stand_in.c", *flags], check=True)
        return str(library)

    def test_a_library_with_exactly_the_declared_functions_passes(self):
        self.assert_clean(self.build())

    def test_a_symbol_that_leaks_is_found(self):
        self.assert_fault("unexpected leaked", self.build("void leaked(void) {}\n"))

    def test_a_function_that_is_not_exported_is_found(self):
        library = self.build()
        self.write("capi/include/halftone/planted.h", "HTONE_API htone_status htone_planted(void);\n")
        self.assert_fault("against the headers: missing htone_planted", library)

    def test_a_call_that_ends_the_process_is_found(self):
        planted = "void abort(void);\nstatic void end(void) { abort(); }\nvoid* htone_end(void) { return (void*)end; }\n"
        self.assert_fault("refers to abort", self.build(planted))

    def test_a_search_path_and_a_strange_library_are_found(self):
        library = self.build("", "-Wl,-rpath,/opt/planted", "-Wl,--no-as-needed", "-lresolv")
        self.assert_fault("has a search path: /opt/planted", library)
        self.assert_fault("needs libresolv.so.2", library)

    def test_a_large_library_is_found(self):
        self.assert_fault("more than 12000000", self.build("const char large[12500000] = {1};\n"))


if __name__ == "__main__":
    unittest.main()
