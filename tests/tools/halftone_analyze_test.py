#!/usr/bin/python3
"""Compares what halftone-analyze prints with the library, and with the document that shows it.

  halftone_analyze_test.py PATH/TO/halftone-analyze PATH/TO/libhalftone.so
"""
import ctypes
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/precision-tools.md"
SHOWN = re.compile(r"^```sh\nhalftone-analyze ([^\n]*)\n```\n+```text\n(.*?)^```$", re.S | re.M)
FORMATS = {"fp64": 9, "fp32": 8, "tf32": 3, "fp16": 1, "bf16": 2, "e4m3": 4, "e5m2": 5, "e2m1": 6}
METHODS = {"naive": 1, "pairwise": 2, "kahan": 3, "neumaier": 4, "exact": 5}
PROGRAM = LIBRARY = ""


class FormatInfo(ctypes.Structure):
    integers = ("struct_size", "bits", "exponent_bits", "mantissa_bits", "bias", "decimal_digits", "has_infinity", "has_nan")
    doubles = ("largest", "smallest_normal", "smallest_subnormal", "epsilon", "range_db", "normal_range_db")
    _fields_ = [(name, ctypes.c_int32) for name in integers] + [(name, ctypes.c_double) for name in doubles]


class RoundingErrors(ctypes.Structure):
    integers = ("nonzero", "zeros", "non_finite")
    doubles = ("mean", "p95", "p99", "max", "rms", "snr_db", "underflow_share", "subnormal_share", "overflow_share",
               "largest", "loss_scale")
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)] + \
        [(name, ctypes.c_int64) for name in integers] + [(name, ctypes.c_double) for name in doubles]


class Library:
    """The calls of the C API that the program makes."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        self.device = self.made("htone_device_create", self.made("htone_context_default"), b"cpu")

    def made(self, name, *arguments):
        out = ctypes.c_void_p()
        self.check(name, *arguments, ctypes.byref(out))
        return out

    def check(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise AssertionError(name)

    def tensor(self, values):
        shape = ctypes.c_int64(len(values))
        data = (ctypes.c_double * len(values))(*values)
        return self.made("htone_tensor_create_copy", self.device, 1, 1, ctypes.byref(shape), data)

    def sum(self, values, form, method):
        out = ctypes.c_double()
        self.check("htone_sum_in", self.tensor(values), FORMATS[form], METHODS[method], ctypes.byref(out))
        return out.value

    def describe(self, form):
        info = FormatInfo(ctypes.sizeof(FormatInfo))
        self.check("htone_format_describe", FORMATS[form], None, ctypes.byref(info))
        return info

    def errors(self, values, form):
        errors = RoundingErrors(ctypes.sizeof(RoundingErrors))
        self.check("htone_analyze_rounding", self.tensor(values), FORMATS[form], None, ctypes.byref(errors))
        return errors


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


class HalftoneAnalyze(unittest.TestCase):
    def output(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def sum_of(self, form, method, value, count, *more):
        return self.output("sum", "--format", form, "--method", method, "--value", value, "--count", str(count), *more)

    def test_a_sum_is_the_librarys(self):
        library = Library()
        for form in FORMATS:
            for method in METHODS:
                shown = json.loads(self.sum_of(form, method, "1e-4", 3000, "--json"))
                self.assertEqual(shown["sum"], library.sum([1e-4] * 3000, form, method))
                self.assertEqual((shown["format"], shown["method"], shown["value"], shown["count"]),
                                 (form, method, 1e-4, 3000))

    def test_the_numbers_of_text_and_json_are_equal(self):
        shown = json.loads(self.sum_of("fp16", "naive", "1e-4", 100000, "--json"))
        self.assertEqual(shown["sum"], 0.25)
        lines = self.sum_of("fp16", "naive", "1e-4", 100000).splitlines()
        self.assertEqual([float(line.split()[-1]) for line in lines], [shown["sum"], shown["exact"], 0.975])

    def test_a_sum_that_is_not_finite_is_null(self):
        shown = json.loads(self.sum_of("fp16", "naive", "60000", 3, "--json"))
        self.assertEqual((shown["sum"], shown["relative_error"], shown["exact"]), (None, None, 180000))
        self.assertIn("inf", self.sum_of("fp16", "naive", "60000", 3))
        self.assertEqual(json.loads(self.sum_of("fp16", "naive", "-1.5", 0, "--json"))["sum"], 0)

    def test_formats_are_the_librarys(self):
        library = Library()
        shown = json.loads(self.output("formats", "--json"))["formats"]
        self.assertEqual([entry["format"] for entry in shown], list(FORMATS))
        for entry in shown:
            info = library.describe(entry["format"])
            for name in FormatInfo.integers[1:] + FormatInfo.doubles:
                self.assertEqual(entry[name], getattr(info, name), (entry["format"], name))
            for part in entry["errors"]:
                first, last = part["from"], part["to"]
                values = [first * (last / first) ** ((i + 0.5) / 10000) for i in range(10000)]
                errors = library.errors(values, entry["format"])
                for name in ("mean", "p95", "p99", "max", "underflow_share", "subnormal_share", "overflow_share", "loss_scale"):
                    self.assertAlmostEqual(part[name], getattr(errors, name), delta=1e-9 * abs(part[name]) + 1e-15)

    def test_the_table_has_the_numbers_of_the_json(self):
        table = [line.split() for line in self.output("formats").splitlines()]
        for entry in json.loads(self.output("formats", "--json"))["formats"]:
            rows = [row for row in table if row and row[0] == entry["format"]]
            self.assertEqual(len(rows), 1 + len(entry["errors"]))
            self.assertEqual(rows[0][4], f"{entry['largest']:.3g}")
            for row, part in zip(rows[1:], entry["errors"]):
                self.assertEqual(row[1:5], [f"{part[name]:.3g}" for name in ("mean", "p95", "p99", "max")])

    def test_the_document_shows_what_is_printed(self):
        shown = SHOWN.findall(DOCUMENT.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(shown), 3)
        for command, expected in shown:
            output = self.output(*command.split())
            # A document may leave out the rest of a long output.
            begin, cut, _ = expected.partition("...\n")
            self.assertTrue(output.startswith(begin) if cut else output == begin, f"{command}\n{output}")

    def test_a_wrong_command_line_names_the_flag(self):
        sum_flags = ["--format", "fp16", "--value", "1", "--count", "2"]
        wrong = {"a command is missing": [], "no command totals": ["totals"], "no option --value": ["formats", "--value", "1"],
                 "no option --speed": ["sum", "--speed", "1"], "--json takes no value": ["formats", "--json=1"],
                 "--format fp15: expected one of fp64, fp32": ["sum", "--format", "fp15"],
                 "--method quick: expected one of naive": ["sum", "--method=quick"],
                 "--value 1x: expected a finite number": ["sum", "--value", "1x"],
                 "--value inf: expected a finite number": ["sum", "--value", "inf"],
                 "--value 1e999: expected a finite number": ["sum", "--value", "1e999"],
                 "--count 1.5: expected a whole number": ["sum", "--count", "1.5"],
                 "--count -1: expected 0 to 1000000000": ["sum", "--count", "-1"],
                 "--count needs a value": ["sum", "--count"], "--format is missing": ["sum", *sum_flags[2:]],
                 "--value is missing": ["sum", *sum_flags[:2]], "--count is missing": ["sum", *sum_flags[:4]]}
        for message, arguments in wrong.items():
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(message, result.stderr)
            self.assertIn("try halftone-analyze --help", result.stderr)

    def test_help_and_version_are_printed(self):
        for arguments in (["--help"], ["sum", "--help"], ["formats", "-h"]):
            self.assertTrue(self.output(*arguments).startswith("usage: halftone-analyze formats"))
        self.assertRegex(self.output("--version"), r"^halftone-analyze \d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PROGRAM, "formats"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write", result.stderr)


if __name__ == "__main__":
    PROGRAM, LIBRARY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
