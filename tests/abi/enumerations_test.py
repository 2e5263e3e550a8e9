#!/usr/bin/python3
"""Enumerations of the public headers are types of their own, which compilers and generators of bindings understand.

    enumerations_test.py INCLUDE-DIRECTORY     where the build has put version.h
"""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

from public_headers import enumerations  # noqa: E402: found by the path above

FORM = re.compile(r"typedef enum (htone_\w+) \{([^}]*)\} (htone_\w+);")
PROGRAM = """#include <halftone/halftone.h>
int main(void) {{
  htone_tensor *x = 0, *y = 0;
  {call}
  return 0;
}}
"""

generated = ""


def compile_text(text, *command):
    includes = ["-I", REPOSITORY / "capi/include", "-I", generated]
    return subprocess.run([*command, *includes, "-x", "c", "-"], input=text, capture_output=True, text=True)


def named_enumerations(text):
    """Maps each enumeration of preprocessed headers to its constants with their values. Any other form fails."""
    found = {}
    for name, body, again in FORM.findall(text):
        if name != again:
            raise ValueError(f"enum {name} is the type {again}")
        pairs = [constant.split("=") for constant in body.split(",") if constant.strip()]
        found[name] = [(constant.strip(), int(value, 0)) for constant, value in pairs]
    if len(re.findall(r"\benum\b", text)) != len(found):
        raise ValueError("an enumeration has no name, or is no type of its own")
    return found


class Enumerations(unittest.TestCase):
    def test_each_is_a_named_type_of_four_bytes_after_the_preprocessor(self):
        text = compile_text("#include <halftone/halftone.h>\n", "gcc", "-E", "-P").stdout
        found = named_enumerations(text)
        self.assertEqual(set(found), set(enumerations()))
        self.assertGreater(len(found), 10)
        for name, constants in found.items():
            values = [value for _, value in constants]
            self.assertEqual(values[-1], 0x7FFFFFFF, name)
            self.assertTrue(constants[-1][0].endswith("_MAX_ENUM"), name)
            self.assertEqual(len(values), len(set(values)), name)
        self.assertNotRegex(text, r"typedef u?int32_t htone_")
        sizes = "".join(f"char size_of_{name}[sizeof({name}) == 4 ? 1 : -1];\n" for name in found)
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                print(f"skipped: {compiler} is not installed")
                continue
            done = compile_text("#include <halftone/halftone.h>\n" + sizes, compiler, "-std=c99", "-fshort-enums",
                                "-fsyntax-only")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_forms_are_found(self):
        right = "typedef enum htone_a { HTONE_A = 1, HTONE_A_MAX_ENUM = 0x7FFFFFFF } htone_a;\n"
        self.assertEqual(named_enumerations(right), {"htone_a": [("HTONE_A", 1), ("HTONE_A_MAX_ENUM", 0x7FFFFFFF)]})
        for wrong in ("enum { HTONE_B = 2 };", "enum htone_b { HTONE_B = 2 };", "typedef enum { HTONE_B = 2 } htone_b;",
                      "typedef enum htone_b { HTONE_B = 2 } htone_c;"):
            with self.assertRaises(ValueError, msg=wrong):
                named_enumerations(right + wrong)

    def test_compilers_warn_at_a_constant_of_another_kind(self):
        wrong = ("(void)!htone_cast(x, HTONE_REDUCTION_SUM, &y);", "(void)!htone_mse_loss(x, x, HTONE_F32, &y);",
                 "htone_autocast_policy* p; (void)!htone_autocast_policy_create(HTONE_AUTOCAST_WIDEST, &p);")
        right = "(void)!htone_cast(x, HTONE_F32, &y);"
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                print(f"skipped: {compiler} is not installed")
                continue
            command = (compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
            done = compile_text(PROGRAM.format(call=right), *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            for call in wrong:
                done = compile_text(PROGRAM.format(call=call), *command)
                self.assertNotEqual(done.returncode, 0, (compiler, call))
                self.assertIn("enum", done.stderr)

    def test_an_ignored_result_is_warned_at(self):
        command = ("gcc", "-std=c99", "-Werror", "-c", "-o", "/dev/null")
        done = compile_text(PROGRAM.format(call="htone_add(x, x, &y);"), *command)
        self.assertIn("unused-result", done.stderr)
        for call in ("htone_tensor_release(x);", "htone_error_last(0);"):
            done = compile_text(PROGRAM.format(call=call), *command)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    generated = sys.argv.pop(1)
    unittest.main()
