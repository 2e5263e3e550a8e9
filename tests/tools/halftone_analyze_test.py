#!/usr/bin/python3
"""Compares what halftone-analyze prints with the library, and with the document that shows it.

  halftone_analyze_test.py PATH/TO/halftone-analyze PATH/TO/libhalftone.so
"""
import contextlib
import ctypes
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/precision-tools.md"
RECORD = DOCUMENT.parents[1] / "tests/tools/run.jsonl"
LIBRARY_HEADERS = DOCUMENT.parents[1] / "capi/include/halftone"
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

    def test_a_files_tensors_have_the_librarys_numbers(self):
        library = Library()
        normal = [((i * 7919) % 2003 - 1001) / 7e3 for i in range(600)] + [0.0, 3e-9, -4e-6, 7e4]
        # More than the 2^20 elements of a part: the largest is in the first, the smallest in the last.
        long = [9e4] + [1e-3 * (1 + i % 17) for i in range(2 ** 20)] + [2e-9]
        both = struct.unpack(f"{len(normal + long)}f", struct.pack(f"{len(normal + long)}f", *normal, *long))
        shown = self.file_of([("normal", "F32", [604], normal), ("long", "F32", [len(long)], long)])
        self.assertEqual(shown["total"]["tensors"], 2)
        for entry, values in zip([*shown["tensors"], shown["total"]], (both[:604], both[604:], both)):
            self.assertEqual([entry[name] for name in ("elements", "largest", "smallest", "zeros")],
                             [len(values), max(map(abs, values)), min(abs(v) for v in values if v), values.count(0)])
            self.assertEqual([part["format"] for part in entry["formats"]], ["fp16", "bf16", "e4m3", "e5m2"])
            for part in entry["formats"]:
                errors = library.errors(values, part["format"])
                for name in ("underflow_share", "subnormal_share", "overflow_share", "snr_db", "loss_scale"):
                    self.assertAlmostEqual(part[name], getattr(errors, name), delta=1e-9 * max(1, abs(part[name])))

    def test_formats_are_chosen_once_each(self):
        shown = self.file_of([("x", "F32", [1], [1])], "--format", "e2m1", "--format=fp16", "--format=e2m1")
        self.assertEqual([part["format"] for part in shown["total"]["formats"]], ["e2m1", "fp16"])

    def test_a_file_has_hard_cases(self):
        name = 'a\n\x1b[2J\x7f\u0085"\\\u00e9'
        tensors = [(name, "F32", [], [0.5]), ("empty", "F64", [3, 0], []), ("many", "BF16", [2, 1], [0x7F80, 0xFFC0]),
                   ("zeros", "F16", [2], [0, 0x8000]), ("count", "I64", [1], [5]), ("e4m3", "F8_E4M3", [2], [0x7E, 0x01]),
                   ("large", "F64", [2], [1e300, -1e-300])]
        by_name = {tensor["name"]: tensor for tensor in self.file_of(tensors)["tensors"]}
        self.assertEqual(list(by_name), [name, "empty", "many", "zeros", "e4m3", "large"])  # an integer is left out
        counts = {key: [value[part] for part in ("dtype", "shape", "elements", "largest", "smallest", "zeros",
                                                 "infinities", "nans")] for key, value in by_name.items()}
        self.assertEqual(counts[name], ["f32", [], 1, 0.5, 0.5, 0, 0, 0])
        self.assertEqual(counts["empty"], ["f64", [3, 0], 0, None, None, 0, 0, 0])
        self.assertEqual(counts["many"], ["bf16", [2, 1], 2, None, None, 0, 1, 1])
        self.assertEqual(counts["zeros"], ["f16", [2], 2, None, None, 2, 0, 0])
        self.assertEqual(counts["e4m3"], ["f8e4m3", [2], 2, 448, 2 ** -9, 0, 0, 0])
        self.assertEqual(counts["large"], ["f64", [2], 2, 1e300, 1e-300, 0, 0, 0])
        fp16 = by_name["large"]["formats"][0]
        self.assertEqual((fp16["overflow_share"], fp16["underflow_share"], fp16["loss_scale"]), (0.5, 0.5, 2.0 ** -126))
        self.assertAlmostEqual(fp16["snr_db"], 0, delta=1e-12)  # 65504 in place of 1e300: the error is all of it
        with self.file(tensors) as path:
            lines = self.output("file", path).splitlines()
        shown = 'a\\u000a\\u001b[2J\\u007f\\u0085\\"\\\\\u00e9'
        self.assertEqual(lines[0], shown + " f32 []: 1 elements, largest 0.5, smallest 0.5, zeros 0, infinities 0, NaN 0")
        self.assertEqual(lines[2].split(), ["fp16", "0", "0", "0", "inf", "2^16"])

    def test_a_pattern_chooses_tensors(self):
        tensors = [(f"layer.{i}.{part}", "F32", [1], [i]) for i in (1, 2) for part in ("weight", "bias")]
        chosen = [tensor["name"] for tensor in self.file_of(tensors, "--tensor", "*.?.weight")["tensors"]]
        self.assertEqual(chosen, ["layer.1.weight", "layer.2.weight"])

    def test_a_file_that_cannot_be_read_is_an_error(self):
        with self.file([("whole", "I32", [1], [1])]) as path:
            self.refused(f"{path} has no float tensor", path)
            self.refused("has no float tensor that fits --tensor w*", path, "--tensor=w*")
            self.refused(f"{path}.gone", path + ".gone")
            content = Path(path).read_bytes()
            for damaged in (content[:-1], content[:20], b"", content.replace(b"I32", b"I33"), b"\xff" * 64):
                Path(path).write_bytes(damaged)
                self.refused(path, path)
            self.refused(os.path.dirname(path), os.path.dirname(path))

    def refused(self, message, *arguments):
        result = run("file", *arguments)
        self.assertEqual((result.returncode, result.stdout), (1, ""), arguments)
        self.assertRegex(result.stderr, r"^halftone-analyze: [^\n]*\n$")
        self.assertIn(message, result.stderr)

    @staticmethod
    @contextlib.contextmanager
    def file(tensors):
        """A safetensors file: of each tensor the name, dtype, shape and elements; those of 16 and 8 bits are codes."""
        codes = {"F64": "d", "F32": "f", "F16": "H", "BF16": "H", "F8_E4M3": "B", "I64": "q", "I32": "i"}
        header, data = {}, b""
        for name, dtype, shape, values in tensors:
            begin = len(data)
            data += struct.pack(f"<{len(values)}{codes[dtype]}", *values)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
        text = json.dumps(header).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.safetensors")
            path.write_bytes(struct.pack("<Q", len(text)) + text + data)
            yield str(path)

    def file_of(self, tensors, *arguments):
        with self.file(tensors) as path:
            return json.loads(self.output("file", path, "--json", *arguments))

    def test_a_record_shows_what_went_wrong(self):
        shown = json.loads(self.output("log", str(RECORD), "--json"))
        self.assertEqual((shown["label"], shown["device"], shown["last_step"], shown["stepped"]), ("half", "cpu", 4, 3))
        self.assertEqual(shown["skipped"], [{"step": 2, "tensor": "up.weight"}])
        self.assertEqual(shown["spikes"], [{"step": 3, "quantity": "loss", "value": 9}])
        self.assertEqual(shown["not_finite"], [{"tensor": "activation up (linear)", "step": 4}])
        self.assertEqual(shown["saturated"], [{"tensor": "activation up (linear)", "step": 1}])
        tensors = {one["kind"]: one for one in shown["tensors"]}
        self.assertEqual((len(shown["tensors"]), tensors["activation"]["step"], tensors["gradient"]["scale"]), (3, 4, 32768))
        # 700 of 990 updates were lost; FP16 would have lost no more, BF16 those from a ratio of 9 on.
        self.assertEqual(tensors["parameter"]["updates"], {
            "lost_share": 700 / 990, "fp16_lost_share": 700 / 990, "bf16_lost_share": 850 / 990, "still": 10})

    def test_a_record_predicts_other_formats_and_scales(self):
        flags = ("--format=fp16", "--format", "e5m2", "--scale=1", "--scale", "32768", "--tensor", "up.*")
        shown = json.loads(self.output("log", str(RECORD), "--json", *flags))
        gradient, = (one for one in shown["tensors"] if one["kind"] == "gradient")
        rows = {(row["format"], row["scale"]): row for row in gradient["formats"]}
        self.assertEqual(list(rows), [("fp16", 1), ("fp16", 32768), ("e5m2", 1), ("e5m2", 32768)])
        # Under a scale of 1, 15 bits below the recorded ones: FP16 loses what is below 2^-25, E5M2 below 2^-17.
        counts = json.loads(RECORD.read_text(encoding="utf-8").splitlines()[-1])["counts"]
        below = [sum(counts[:bin - 107]) / sum(counts) for bin in (127 - 25 + 15, 127 - 14 + 15, 127 - 17 + 15)]
        self.assertAlmostEqual(rows["fp16", 1]["underflow_share"], below[0], places=12)
        self.assertAlmostEqual(rows["fp16", 1]["underflow_share"] + rows["fp16", 1]["subnormal_share"], 1, delta=0.002)
        self.assertAlmostEqual(rows["e5m2", 1]["underflow_share"], 1 if below[2] == 1 else below[2], delta=0.002)
        self.assertEqual(rows["fp16", 32768]["underflow_share"], 0)
        # The largest gradient is 2^-4 / 2^15, and 65504 is below 2^16.
        self.assertEqual({row["loss_scale"] for row in gradient["formats"]}, {2.0 ** 34})

    def test_a_record_that_is_none_names_the_line(self):
        lines = RECORD.read_text(encoding="utf-8").splitlines()
        wrong = {"line 2: byte 1: a value was expected": [lines[0], "x"],
                 "line 1: a record begins with a line of the run": lines[1:2],
                 "line 1: the record has version 2; this program reads 1": [lines[0].replace(":1,", ":2,", 1)],
                 'line 1: "version" is missing': [lines[0].replace("version", "v")],
                 'line 2: "step" is not a whole number': [lines[0], lines[1].replace(":1,", ":-1,", 1)],
                 'line 2: "counts" goes beyond entry 254': [lines[0], lines[2].replace(":127,", ":250,")],
                 'line 2: "zeros" is not a number': [lines[0], lines[2].replace('"zeros":0', '"zeros":"0"')],
                 'line 2: "dtype" i32 is no float': [lines[0], lines[2].replace("f16", "i32")],
                 'line 2: "scale" is not above 0': [lines[0], lines[-1].replace("32768", "0")],
                 "line 3: byte 11: a comma or } was expected": [lines[0], lines[1], '{"step":1 "a":2}'],
                 "line 2: byte 10: lists and objects are nested too deep": [lines[0], "[" * 20],
                 "line 2: a line is an object": [lines[0], "[]"], "has no whole line of a record": []}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.jsonl")
            self.log_refused(f"cannot open {path}", path)
            for message, content in wrong.items():
                path.write_text("".join(line + "\n" for line in content), encoding="utf-8")
                self.log_refused(message, path)
            path.write_text(lines[0] + "\n" + lines[2].replace("65504", "70000") + "\n", encoding="utf-8")
            self.log_refused("step 1, activation up: ", path)
            path.write_text(lines[0] + "\n" + lines[1][:20], encoding="utf-8")  # the run still writes it
            self.assertEqual(json.loads(self.output("log", str(path), "--json"))["stepped"], 0)
            path.write_text(lines[0] + "\n" + '{"step":1,"record":"news","list":[{"a":[]}]}' + "\n", encoding="utf-8")
            self.assertEqual(json.loads(self.output("log", str(path), "--json"))["tensors"], [])
        self.log_refused("no tensor that fits --tensor down*", RECORD, "--tensor", "down*")

    def log_refused(self, message, path, *arguments):
        result = run("log", str(path), *arguments)
        self.assertEqual((result.returncode, result.stdout), (1, ""), message)
        self.assertRegex(result.stderr, r"^halftone-analyze: [^\n]*\n$")
        self.assertIn(message, result.stderr)

    def test_shapes_are_the_asked_one_and_its_multiples(self):
        for sizes, expected in (((30, 17, 70), [(30, 17, 70, []), (32, 24, 72, [8]), (32, 32, 80, [16]), (32, 32, 96, [32]),
                                                (64, 64, 128, [64])]),
                                ((64, 16, 32), [(64, 16, 32, [8, 16]), (64, 32, 32, [32]), (64, 64, 64, [64])]),
                                ((64, 64, 64), [(64, 64, 64, [8, 16, 32, 64])])):
            shown = json.loads(self.output("shapes", *map(str, sizes), "--json"))
            self.assertEqual([(one["m"], one["n"], one["k"], one["multiple_of"]) for one in shown["shapes"]], expected)
            self.assert_speeds(shown, sizes)

    def assert_speeds(self, shown, sizes):
        asked = shown["shapes"][0]
        work = 2 * sizes[0] * sizes[1] * sizes[2]
        for one in shown["shapes"]:
            own = 2 * one["m"] * one["n"] * one["k"]
            speed = one["gflops"]
            self.assertTrue(0 < speed["low"] <= speed["median"] <= speed["high"])
            self.assertAlmostEqual(one["milliseconds"] * speed["median"] * 1e6, own, delta=1e-6 * own)
            self.assertAlmostEqual(one["more_work"], own / work - 1, delta=1e-9)
        # Advice needs rounds whose middle half is above that of the shape that was asked for.
        best = max(shown["shapes"], key=lambda one: one["gflops"]["median"])
        is_clear = best["gflops"]["low"] > asked["gflops"]["high"]
        self.assertEqual(shown["advice"], best if is_clear else None)

    def test_every_dtype_has_a_speed(self):
        for dtype in ("fp32", "bf16", "fp16", "e4m3"):
            shown = json.loads(self.output("shapes", "16", "--dtype", dtype, "16", "24", "--json"))
            self.assertEqual(shown["dtype"], dtype)
            self.assert_speeds(shown, (16, 16, 24))

    def test_advice_has_a_reason_and_a_source_for_each_line(self):
        devices = json.loads(self.output("advice", "--json"))["devices"]
        self.assertEqual([one["device"] for one in devices],
                         ["v100", "t4", "a100", "h100", "h200", "b200", "cpu", "avx2", "avx512", "avx512_bf16", "amx", "this"])
        recipes = (LIBRARY_HEADERS / "recipe.h").read_text(encoding="utf-8")
        for one in devices:
            for name in ("format", "recipe", "scaling", "alignment", "speed"):
                self.assertTrue(all(one[name][part] for part in ("value", "reason", "source")), (one["device"], name))
            for recipe in re.findall(r"HTONE_RECIPE_\w+", one["recipe"]["value"] + " " + one["recipe"]["reason"]):
                self.assertIn(f"  {recipe} =", recipes)
            self.assertEqual("fp16" in one["format"]["value"], "dynamic" in one["scaling"]["value"])
            for storage in one["bytes_per_parameter"]:
                self.assertEqual(storage["bytes"], sum(storage[part] for part in ("weights", "copy", "gradients", "moments")))
            self.assertTrue(1 <= one["speed_from"] <= one["speed_to"])
        storage = {one["device"]: [way["bytes"] for way in one["bytes_per_parameter"]] for one in devices}
        self.assertEqual((storage["avx2"], storage["v100"], storage["a100"]), ([16], [18, 16, 12], [18, 16, 14, 12]))

    def test_peaks_are_those_of_the_data_sheets(self):
        reasons = {one["device"]: one["speed"]["reason"] for one in json.loads(self.output("advice", "--json"))["devices"]}
        for device, peaks in (("v100", ("125", "15.7")), ("a100", ("312", "156", "19.5")), ("h100", ("989", "1979", "67"))):
            for peak in peaks:
                self.assertRegex(reasons[device], rf"\b{re.escape(peak)}\b", device)

    def test_advice_for_this_machine_is_compared_with_a_measurement(self):
        this, = json.loads(self.output("advice", "--device", "this", "--json"))["devices"]
        like, = json.loads(self.output("advice", f"--device={this['like']}", "--json"))["devices"]
        for name in set(like) - {"device"}:
            self.assertEqual(this[name], like[name])
        for name in ("fp32_gflops", "bf16_gflops", "ratio"):
            self.assertTrue(0 < this[name]["low"] <= this[name]["median"] <= this[name]["high"])
        agrees = this["ratio"]["high"] >= 0.8 * like["speed_from"] and this["ratio"]["low"] <= 1.2 * like["speed_to"]
        self.assertEqual(this["agrees"], agrees)
        kernels = {"AVX3": "avx512", "AVX2": "avx2"}.get(this["instruction_set"], "cpu")
        with_bf16 = "amx" if this["has_amx"] else "avx512_bf16"
        self.assertEqual(this["like"], with_bf16 if this["has_bf16_products"] else kernels)

    def test_the_document_shows_what_is_printed(self):
        shown = SHOWN.findall(DOCUMENT.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(shown), 3)
        tensors = [("weight", "F32", [8, 8], [(i - 32) / 100 for i in range(64)]),
                   ("gradient", "F32", [64], [1e-9 * 1.2 ** i for i in range(64)])]
        for command, expected in shown:
            with self.file(tensors) as path:
                files = {"model.safetensors": path, "run.jsonl": str(RECORD)}
                output = self.output(*(files.get(word, word) for word in shlex.split(command)))
            # A document may leave out the rest of a long output.
            begin, cut, _ = expected.partition("...\n")
            if " #" not in begin:
                self.assertTrue(output.startswith(begin) if cut else output == begin, f"{command}\n{output}")
                continue
            # Here # is a number that was measured; columns have other widths then.
            words = output.split()
            wanted = begin.split()
            self.assertTrue(cut or len(words) == len(wanted), f"{command}\n{output}")
            for word, want in zip(words, wanted):
                self.assertRegex(word, r"^[0-9.e+-]+,?$" if want in ("#", "#,") else f"^{re.escape(want)}$", output)

    def test_a_wrong_command_line_names_the_flag(self):
        sum_flags = ["--format", "fp16", "--value", "1", "--count", "2"]
        wrong = {"a command is missing": [], "no command totals": ["totals"], "no option --value": ["formats", "--value", "1"],
                 "no option --speed": ["sum", "--speed", "1"], "argument 5 is not an option": ["sum", "5"],
                 "M 0: expected 1 to 65536": ["shapes", "0", "1", "1"],
                 "K 1.5: expected a whole number": ["shapes", "1", "1", "1.5"], "K is missing": ["shapes", "1", "1"],
                 "the argument 4 is after M, N and K": ["shapes", "1", "2", "3", "4"], "no option -1": ["shapes", "-1"],
                 "matrix of more than 67108864 elements": ["shapes", "1", "16384", "8192"],
                 "--dtype fp64: expected one of fp32": ["shapes", "1", "1", "1", "--dtype=fp64"],
                 "--device v101: expected one of this, v100": ["advice", "--device", "v101"],
                 "no option --dtype": ["advice", "--dtype", "fp16"],
                 "FILE is missing": ["file", "--json"], "--scale 0: expected 2^-62 to 2^62": ["log", "a", "--scale=0"],
                 "no option --scale": ["file", "a", "--scale=2"], "FILE b: expected one file": ["file", "a", "b"],
                 "FILE is an empty text": ["file", ""], "no option --value ": ["file", "a", "--value ", "1"],
                 "--format fp17: expected one of fp64": ["file", "a", "--format", "fp17"],
                 "--tensor needs a value": ["file", "a", "--tensor"], "--json takes no value": ["formats", "--json=1"],
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
