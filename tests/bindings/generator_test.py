"""The generator of the interface refuses what it cannot name, and records why it leaves a function out. Run by CTest.

    generator_test.py API.JSON
"""

import copy
import re
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bindings/generator"))

import csharp_classes  # noqa: E402: found by the path above
import java_classes  # noqa: E402
import python_docs  # noqa: E402
from description import Api, class_name, constant_names  # noqa: E402
from interface import Interface  # noqa: E402
from managed import Managed  # noqa: E402

api = None


def planted(name, change):
    """The description with one function changed."""
    made = copy.deepcopy(api)
    change(next(function for function in made.functions if function["name"] == name))
    return made


def argument(function, name):
    return next(row for row in function["arguments"] if row["name"] == name)


class Generator(unittest.TestCase):
    def test_a_function_is_wrapped_or_has_a_reason(self):
        interface = Interface(api)
        names = {function["name"] for function in api.functions}
        self.assertEqual(set(interface.reached) | set(interface.left_out), names)
        self.assertFalse(set(interface.reached) & set(interface.left_out))

    def test_an_argument_with_the_name_of_a_setting_is_refused(self):
        made = planted("htone_cross_entropy", lambda row: argument(row, "logits").update(name="label_smoothing"))
        with self.assertRaisesRegex(ValueError, "label_smoothing is an argument and a setting; names.py must rename"):
            Interface(made)

    def test_a_default_that_nobody_takes_is_refused(self):
        made = planted("htone_leaky_relu", lambda row: argument(row, "negative_slope").update(name="slope"))
        with self.assertRaisesRegex(ValueError, "'htone_leaky_relu', 'negative_slope'.*, which no function takes"):
            Interface(made)

    def test_a_parameter_that_is_a_word_of_python_is_refused(self):
        made = planted("htone_relu", lambda row: argument(row, "input").update(name="lambda"))
        with self.assertRaisesRegex(ValueError, "lambda is a word of Python"):
            Interface(made).text()

    def test_a_setting_that_a_call_needs_has_no_default(self):
        call = next(call for call in Interface(api).calls if call.function["name"] == "htone_sampler_create")
        self.assertEqual([item.name for item in call.parameters if not item.default], ["count", "batch_size"])

    def test_a_setting_of_modules_is_no_argument_of_the_operation(self):
        call = next(call for call in Interface(api).calls if call.function["name"] == "htone_conv2d")
        self.assertNotIn("dtype", [item.name for item in call.parameters])

    def test_a_setting_whose_default_is_no_constant_is_a_number(self):
        made = copy.deepcopy(api)
        made.initializers["adamw_options"]["values"]["compute_dtype"] = "(htone_dtype)0"
        interface = Interface(made)
        call = next(call for call in interface.calls if (call.owner, call.name) == ("Optimizer", "adamw"))
        setting = next(item for item in call.parameters if item.name == "compute_dtype")
        self.assertEqual(setting.declaration(with_default=True), "Dtype compute_dtype = Dtype(0)")
        self.assertIn("compute_dtype=0", python_docs.signature(call))

    def test_a_setting_without_a_usable_default_is_refused(self):
        for text in ("sizeof(int)", "(htone_missing)0", "NAN"):
            made = copy.deepcopy(api)
            made.initializers["adamw_options"]["values"]["lr"] = text
            with self.assertRaisesRegex(ValueError, "htone_optimizer_options.lr: its default .* is no value"):
                Interface(made)

    def test_a_callback_without_a_type_is_left_out(self):
        self.assertEqual(Interface(api).left_out["htone_tensor_from_buffer"], "deleter is a callback")

    def test_names_are_those_of_the_c_api_without_prefixes(self):
        self.assertEqual(class_name("htone_state_dict"), "StateDict")
        names = constant_names(api.enumerations["htone_status"])
        self.assertEqual((names["HTONE_OK"], names["HTONE_ERROR_STATE"]), ("OK", "STATE"))
        self.assertEqual(constant_names(api.enumerations["htone_gelu_form"])["HTONE_GELU_ERF"], "ERF")


class Classes(unittest.TestCase):
    """The classes of Java and C#."""

    def test_a_function_is_wrapped_or_has_a_reason(self):
        managed = Managed(api)
        self.assertEqual(set(managed.reached) | set(managed.left_out), {function["name"] for function in api.functions})
        self.assertFalse(set(managed.reached) & set(managed.left_out))

    def test_a_call_with_work_waits_or_returns_the_work(self):
        made = java_classes.classes(Managed(api))["Group"]
        self.assertIn("public void allReduce(ReduceOp op, Tensor source, Tensor out) {", made)
        self.assertIn("public Work allReduceAsync(ReduceOp op, Tensor source, Tensor out) {", made)

    def test_java_has_a_method_by_hand_where_none_is_generated(self):
        folder = REPOSITORY / "bindings/java/org/halftone"
        handwritten = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.java"))
        generated = "".join(java_classes.classes(Managed(api)).values())
        for name in java_classes.BY_HAND:
            self.assertRegex(handwritten, rf"C: .*\b{name}\b")
            self.assertNotRegex(generated, rf"C: {name}\b")

    def test_java_has_an_overload_for_each_optional_parameter(self):
        made = java_classes.classes(Managed(api))["Halftone"]
        for parameters in ("Tensor input, long k, long dim", "Tensor input, long k, long dim, boolean largest",
                           "Tensor input, long k, long dim, boolean largest, boolean sorted"):
            self.assertIn(f"public static Topk topk({parameters}) {{", made)

    def test_csharp_has_named_arguments_properties_and_tuples(self):
        made = csharp_classes.text(Managed(api))
        self.assertIn("public static (Tensor Values, Tensor Indices) Topk(Tensor input, long k, long dim, "
                      "bool largest = true, bool sorted = true) {", made)
        self.assertIn("public long[] Shape {", made)
        self.assertIn("set { SetRequiresGrad(value); }", made)

    def test_each_kind_of_a_structure_is_a_class_of_the_settings_that_it_reads(self):
        made = java_classes.classes(Managed(api))
        self.assertIn("public double weightDecay = 0.0;", made["AdamOptions"])
        self.assertIn("public double weightDecay = 0.01;", made["AdamwOptions"])
        self.assertIn("private final double momentum = 0.0;", made["AdamwOptions"])
        self.assertIn("public double momentum = 0.0;", made["SgdOptions"])
        self.assertIn("public double momentum = 0.0;", made["OptimizerOptions"])

    def test_a_function_of_the_caller_has_a_type(self):
        managed = Managed(api)
        self.assertIn("Tensor[] call(Block block, Tensor[] inputs, Tensor[] outputs) throws Exception;",
                      java_classes.classes(managed)["ForwardHookFunction"])
        made = csharp_classes.text(managed)
        self.assertIn("public delegate Tensor[] BackwardFunction(Tensor[] saved, Tensor[] gradOutputs, "
                      "bool[] needsGrad);", made)
        self.assertIn("public delegate double ScheduleFunction(long position);", made)

    def test_a_function_that_takes_something_else_is_refused(self):
        made = copy.deepcopy(api)
        made.callbacks["htone_log_fn"]["declaration"] = "void (*htone_log_fn)(htone_group* group, void* user)"
        with self.assertRaisesRegex(ValueError, r"htone_log_fn: swig/callbacks.h gives no htone_group\*"):
            Managed(made)

    def test_the_words_of_the_header_are_in_the_documentation(self):
        managed = Managed(api)
        for made in (java_classes.classes(managed)["Halftone"], csharp_classes.text(managed)):
            self.assertIn("Returns the k largest or smallest elements", made)
            self.assertIn("C: htone_topk", made)

    def test_the_documentation_has_the_names_of_the_language(self):
        managed = Managed(api)
        java, csharp = "".join(java_classes.classes(managed).values()), csharp_classes.text(managed)
        self.assertIn("@param retainGraph true keeps the saved tensors", java)
        self.assertIn("Makes a block that applies {@code Halftone.relu}", java)
        self.assertIn("{@code Dtype.BF16}", java)
        self.assertIn("<c>Ops.Relu</c>", csharp)
        self.assertIn("<c>Dtype.BF16</c>", csharp)
        for made in (java, csharp):
            text = re.sub(r"C:\s+(///\s+)?htone_\w+", "", made)
            names = re.findall(r"\bhtone_\w+|\bHTONE_\w+|\bNULL\b", text)
            # The version of the headers, which no language reads, and text in quotes.
            self.assertEqual(set(names) - {"HTONE_VERSION_TEXT", "HTONE_VERSION_NUMBER"},
                             {"htone_mul", "htone_module_create_"})

    def test_java_has_no_name_of_the_packages_that_programs_import(self):
        names = set(java_classes.classes(Managed(api)))
        self.assertIn("Block", names)
        self.assertFalse(names & {"Module", "Function", "Process", "Record", "Compiler", "Package", "Thread"})

    def test_a_second_operand_may_be_a_number(self):
        managed = Managed(api)
        self.assertIn("public static Tensor add(Tensor input, double number) {", java_classes.classes(managed)["Halftone"])
        self.assertIn("public static Tensor Add(Tensor input, double number) {", csharp_classes.text(managed))


if __name__ == "__main__":
    api = Api(Path(sys.argv.pop(1)))
    unittest.main()
