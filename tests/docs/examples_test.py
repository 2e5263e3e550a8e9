#!/usr/bin/python3
"""Compiles and runs the example in the comment of each public header against libhalftone.so of the build.

An example is the @code block of a header's file comment. Functions of it, which begin with `static`, stay outside of
main. base.h tells which names every example may use.

  tests/docs/examples_test.py build/release
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HEADERS = REPOSITORY / "capi/include"
BLOCK = re.compile(r"^ \* @code\n(.*?)^ \* @endcode\n", re.S | re.M)
FUNCTION = re.compile(r"^static .*?^\}\n", re.S | re.M)
PROGRAM = """#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halftone/halftone.h"

static void check(htone_status status) {{
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  if (status == HTONE_OK) return;
  htone_error_last(&info);
  fprintf(stderr, "%s\\n", info.message);
  exit(1);
}}
{functions}
static void example(htone_context* context, htone_device* device, htone_tensor* x, htone_module* model,
                    htone_tensor* loss) {{
  float values[6] = {{0}};
  double number = 0;
  int64_t count = 0;
  htone_tensor* y = NULL;
  htone_optimizer* optimizer = NULL;
  (void)context, (void)device, (void)x, (void)model, (void)loss;
  (void)values, (void)number, (void)count, (void)y, (void)optimizer;
{statements}}}

int main(void) {{
  const float numbers[] = {{1, 2, 3, 4, 5, 6}};
  const int64_t shape[] = {{2, 3}};
  int64_t handles = -1;
  htone_scope* program;
  htone_context* context;
  htone_device* device;
  htone_module* model;
  htone_tensor *x, *loss;
  check(htone_handles_begin(&program));
  check(htone_context_create(NULL, &context));
  check(htone_device_create(context, "cpu", &device));
  check(htone_tensor_create_copy(device, HTONE_F32, 2, shape, numbers, &x));
  check(htone_module_create_linear(device, 3, 2, NULL, &model));
  check(htone_module_forward(model, x, NULL, &loss));
  check(htone_sum(loss, 0, NULL, 0, &loss));
  example(context, device, x, model, loss);
  check(htone_scope_end(program));
  check(htone_debug_live_handles(&handles));
  assert(handles == 0);
  return 0;
}}
"""


def example_of(header: Path) -> str:
    """The lines of the file comment's block; empty if it has none."""
    comment = header.read_text(encoding="utf-8").split("*/", 1)[0]
    return "".join(re.sub(r"^ \* ?", "", line) for match in BLOCK.findall(comment) for line in match.splitlines(True))


def program_of(example: str) -> str:
    return PROGRAM.format(functions="".join(FUNCTION.findall(example)), statements=FUNCTION.sub("", example))


class Examples(unittest.TestCase):
    build = Path("build/release")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, text: str) -> subprocess.CompletedProcess:
        capi = self.build / "capi"
        compiled = subprocess.run(
            ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", HEADERS, "-I", self.build / "generated/include",
             "-x", "c", "-", "-o", self.folder / "example", "-L", capi, "-lhalftone", f"-Wl,-rpath,{capi}"],
            input=text, capture_output=True, text=True)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        return subprocess.run([self.folder / "example"], cwd=self.folder, capture_output=True, text=True)

    def test_the_example_of_each_header_runs(self):
        for header in sorted(HEADERS.glob("halftone/*.h")):
            with self.subTest(header=header.name):
                example = example_of(header)
                self.assertIn("assert(", example, "an example asserts something about its result")
                done = self.run_program(program_of(example))
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_wrong_example_fails(self):
        right = example_of(HEADERS / "halftone/product.h")
        self.assertIn("number == 720", right)
        self.assertNotEqual(self.run_program(program_of(right.replace("720", "721"))).returncode, 0)


if __name__ == "__main__":
    Examples.build = Path(sys.argv.pop(1)).resolve()
    unittest.main()
