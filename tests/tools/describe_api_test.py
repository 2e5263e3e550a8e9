#!/usr/bin/python3
"""The description of the C API is complete and current, and an unclear declaration is an error that names it.

    describe_api_test.py API.JSON LIBHALFTONE.SO
"""
import json
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

from check_symbols import symbols  # noqa: E402: found by the path above
from describe_api import describe  # noqa: E402

PLANTED = """#ifndef PLANTED_H
#define PLANTED_H
/** Does something.
 *
{comment}
 */
HTONE_API htone_status htone_planted({parameters});
#endif
"""
description, library = {}, ""


def function(name):
    return next(row for row in description["functions"] if row["name"] == name)


def argument(name, which):
    return next(row for row in function(name)["arguments"] if row["name"] == which)


class TheDescription(unittest.TestCase):
    def test_has_every_exported_symbol_and_no_other(self):
        described = {row["name"] for row in description["functions"]}
        self.assertEqual(described, symbols(Path(library), "--defined-only"))

    def test_is_current(self):
        self.assertEqual(description, json.loads(json.dumps(describe(REPOSITORY))))

    def test_says_what_every_function_does(self):
        for row in description["functions"]:
            self.assertTrue(row["brief"] and row["since"], row["name"])

    def test_every_companion_is_an_argument(self):
        for row in description["functions"]:
            names = {item["name"] for item in row["arguments"]}
            for item in row["arguments"]:
                companions = set(item.get("companions", {}).values()) | set(filter(None, [item.get("length")]))
                self.assertLessEqual(companions, names, row["name"])

    def test_every_length_is_an_integer(self):
        for row in description["functions"]:
            for item in row["arguments"]:
                if item["role"] == "length":
                    self.assertIn(item["type"], ("int32_t", "size_t"), row["name"])

    def test_every_structure_of_settings_has_a_default_for_each_field(self):
        for name, row in description["structures"].items():
            if name.endswith("_options"):
                values = description["initializers"][name.removeprefix("htone_")]["values"]
                self.assertEqual(list(values), [member["name"] for member in row["fields"]])

    def test_every_counted_handle_can_be_released(self):
        names = {row["name"] for row in description["functions"]}
        for name, handle in description["handles"].items():
            if name != "htone_scope":  # htone_scope_end ends it
                self.assertTrue(handle["is_counted"] and name + "_release" in names, name)


class ARole(unittest.TestCase):
    def test_joins_an_array_with_its_length(self):
        self.assertEqual(argument("htone_sum", "dims")["length"], "dim_count")
        self.assertEqual(argument("htone_roll", "dim_count")["of"], "dims, shifts")
        self.assertEqual(argument("htone_pad", "padding")["factor"], 2)
        self.assertEqual(argument("htone_cat", "tensors")["role"], "handles")

    def test_joins_text_with_its_capacity_and_its_length(self):
        text = argument("htone_device_name", "out_name")
        self.assertEqual((text["role"], text["companions"]),
                         ("text_out", {"capacity": "capacity", "out_length": "out_length"}))

    def test_joins_a_callback_with_its_argument_and_its_end(self):
        callback = argument("htone_schedule_create_callback", "callback")
        self.assertEqual((callback["of"], callback["companions"]),
                         ("htone_schedule_fn", {"user": "user", "destroy": "destroy"}))
        self.assertEqual(argument("htone_tensor_from_buffer", "deleter")["companions"], {"user": "user"})

    def test_tells_a_boolean_from_a_number(self):
        self.assertEqual(argument("htone_sum", "keepdim")["role"], "boolean")
        self.assertEqual(argument("htone_tensor_requires_grad", "out_requires_grad")["role"], "boolean")
        self.assertEqual(argument("htone_group_rank", "out_rank")["role"], "number")

    def test_says_what_is_optional(self):
        self.assertTrue(argument("htone_linear", "bias")["is_optional"])
        self.assertFalse(argument("htone_linear", "weight")["is_optional"])
        self.assertFalse(argument("htone_sampler_create", "options")["is_optional"])

    def test_of_settings_names_the_right_defaults(self):
        self.assertEqual(argument("htone_optimizer_create", "options")["initializer"], "optimizer_options")
        self.assertEqual(description["initializers"]["optimizer_options"]["values"]["kind"], "HTONE_OPTIMIZER_ADAMW")
        self.assertEqual(description["initializers"]["adam_options"]["kind"], "adam")
        self.assertEqual(description["initializers"]["adam_options"]["values"]["weight_decay"], "0.0")
        self.assertEqual(description["initializers"]["adamw_options"]["values"]["weight_decay"], "0.01")

    def test_has_every_constant_of_the_headers(self):
        """A constant may be on two lines with its value."""
        folder = REPOSITORY / "capi/include/halftone"
        text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.h"))
        bodies = re.findall(r"^typedef enum \w+ \{(.*?)^\}", text, re.S | re.M)
        written = re.findall(r"^\s*(HTONE_\w+)\b", re.sub(r"/\*.*?\*/", "", "".join(bodies), flags=re.S), re.M)
        found = {value["name"] for row in description["enumerations"].values() for value in row["values"]}
        self.assertEqual({name for name in written if not name.endswith("_MAX_ENUM")}, found)

    def test_of_an_enumeration_has_its_values(self):
        values = {row["name"]: row["value"] for row in description["enumerations"]["htone_dtype"]["values"]}
        self.assertEqual((values["HTONE_F64"], values["HTONE_BOOL"], len(values)), (1, 12, 12))
        for name, row in description["enumerations"].items():
            for value in row["values"]:
                self.assertTrue(value["text"], value["name"])


class AnUnclearDeclaration(unittest.TestCase):
    def refused(self, parameters, comment, words):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "cmake").mkdir()
            shutil.copy(REPOSITORY / "cmake/version.h.in", root / "cmake")
            shutil.copytree(REPOSITORY / "capi/include", root / "capi/include")
            planted = PLANTED.format(parameters=parameters, comment=comment)
            (root / "capi/include/halftone/planted.h").write_text(planted, encoding="utf-8")
            with self.assertRaisesRegex(ValueError, words):
                describe(root)

    def test_names_an_argument_without_a_comment(self):
        self.refused("int64_t count", " * @since 0.1", "planted.h:7: htone_planted: .* does not describe count")

    def test_names_an_array_without_a_length(self):
        self.refused("const int64_t* sizes", " * @param[in] sizes some sizes.", "htone_planted: .* sizes: its role")

    def test_names_a_type_that_no_header_defines(self):
        self.refused("htone_ghost* ghost", " * @param[in] ghost borrowed.", "htone_planted: .* ghost: its role")

    def test_names_settings_without_defaults(self):
        self.refused("const htone_row_type* rows, htone_row_type* out_rows",
                     " * @param[in] rows a row.\n * @param[out] out_rows a row.", "htone_row_type has no macro")


if __name__ == "__main__":
    description = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    library = sys.argv[2]
    unittest.main(argv=sys.argv[:1])
