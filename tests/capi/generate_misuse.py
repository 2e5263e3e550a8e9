#!/usr/bin/env python3
"""Writes the misuse test of the C API: every function of the headers with one wrong argument at a time.

    generate_misuse.py OUTPUT.c HEADER...

The headers say what is a handle, a result, an options structure, optional. The tables below say what a valid and a wrong
value of every other parameter is; a function, parameter or options field that they do not know is an error, so that
nothing new goes untested. What a call is judged by stands in misuse_fixture.h.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Handle type: (kind in misuse_fixture.h, member of the fixture, the function that gives a reference back).
HANDLES = {
    "htone_context": ("kContextHandle", "context", "htone_context_release"),
    "htone_device": ("kDeviceHandle", "device", "htone_device_release"),
    "htone_tensor": ("kTensorHandle", "tensor", "htone_tensor_release"),
    "htone_scope": ("kScopeHandle", "scope", "htone_scope_end"),
    "htone_autocast_policy": ("kPolicyHandle", "policy", "htone_autocast_policy_release"),
    "htone_module": ("kModuleHandle", "module", "htone_module_release"),
    "htone_parameter": ("kParameterHandle", "parameter", "htone_parameter_release"),
    "htone_optimizer": ("kOptimizerHandle", "optimizer", "htone_optimizer_release"),
    "htone_schedule": ("kScheduleHandle", "schedule", "htone_schedule_release"),
    "htone_sampler": ("kSamplerHandle", "sampler", "htone_sampler_release"),
    "htone_batches": ("kBatchesHandle", "batches", "htone_batches_release"),
}

# Handles that must be another object of the fixture than the type's first.
OTHER_HANDLES = {
    ("htone_cross_entropy", "targets"): "targets",
    ("htone_accuracy", "targets"): "targets",
    ("htone_linear", "bias"): "bias",
    ("htone_tensor_backward", "tensor"): "loss",
    ("htone_tensor_backward", "gradient"): "gradient",
    ("htone_tensor_grad", "tensor"): "leaf",
    ("htone_tensor_item", "tensor"): "gradient",
    ("htone_tensor_zero_grad", "tensor"): "leaf",
    ("htone_optimizer_create_adamw", "module"): "free_module",
    ("htone_optimizer_create_sgd", "module"): "free_module",
}

# Arrays of handles: what one of two elements is.
HANDLE_ARRAYS = {"modules": "htone_module", "tensors": "htone_tensor"}

# Options structure: (member of the fixture, whether its first field alone is a complete structure).
OPTIONS = {
    "htone_context_options": ("context_options", True),
    "htone_linear_options": ("linear_options", True),
    "htone_adamw_options": ("adamw_options", True),
    "htone_sgd_options": ("sgd_options", True),
    "htone_sampler_options": ("sampler_options", False),
}

NOT_FINITE = ["NAN", "INFINITY", "-INFINITY"]
EXTREMES = ["INT64_MAX", "INT64_MIN"]

# Wrong values of every options field; None where no value is wrong or context_test.c tries them.
FIELDS = {
    ("htone_context_options", "num_threads"): ["-1", "257", "INT32_MAX", "INT32_MIN"],
    ("htone_context_options", "seed"): None,
    ("htone_context_options", "allocator"): None,
    ("htone_context_options", "io"): None,
    ("htone_context_options", "clock"): None,
    ("htone_linear_options", "bias"): None,
    ("htone_linear_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_adamw_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_adamw_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_adamw_options", "beta1"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "beta2"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "epsilon"): NOT_FINITE + ["0.0", "-1e-8"],
    ("htone_adamw_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_sgd_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_sgd_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_sgd_options", "momentum"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_sgd_options", "dampening"): NOT_FINITE + ["1.1", "-0.1"],
    ("htone_sgd_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_sgd_options", "nesterov"): ["1"],  # without momentum
    ("htone_sampler_options", "shuffle"): None,
    ("htone_sampler_options", "seed"): None,
    ("htone_sampler_options", "count"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "batch_size"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "drop_last"): None,
    ("htone_sampler_options", "rank"): ["-1", "1", "INT32_MAX"],
    ("htone_sampler_options", "world_size"): ["0", "-1"],
}

# Result structures whose struct_size the caller sets.
RESULT_STRUCTURES = ("htone_error_info", "htone_memory_stats")


@dataclass
class Values:
    """A valid value of a parameter that is no handle, result or options, and wrong ones: (value, status)."""

    valid: str
    wrong: list = field(default_factory=list)


def refuse(values, status="INVALID_ARGUMENT"):
    return [(value, status) for value in values]


ANY = "no value is wrong, or the test of the header tries them"
DTYPES = refuse(["0", "200", "-1", "13", "INT32_MAX"])
FLOATS = DTYPES + refuse(["HTONE_I64", "HTONE_BOOL"])
SIZE = Values("2", refuse(["0", "-1", "INT64_MIN", "INT64_MAX"]))
NUMBER_OF_DIMS = Values("2", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"]))
DIM = refuse(["2", "-3"] + EXTREMES)
FINITE = refuse(NOT_FINITE)
INDEX = refuse(["1000", "SIZE_MAX"])

# By the parameter's name, or by (function, name) where one name means several things.
VALUES = {
    "a": Values("HTONE_F32", DTYPES),
    "b": Values("HTONE_F16", DTYPES),
    "autocast_class": Values("HTONE_AUTOCAST_LOW", refuse(["0", "5", "-1"])),
    "bytes": Values("0", refuse(["-1", "INT64_MIN"])),
    "callback": Values("NULL"),
    "capacity": Values("100"),
    ("htone_tensor_shape", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    ("htone_tensor_strides", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    "count": Values("2"),
    "data": Values("numbers"),
    "deleter": Values("NULL"),
    "destroy": Values("NULL"),
    "dim": Values("0", DIM),
    "dim0": Values("0", DIM),
    "dim1": Values("1", DIM),
    "dim_count": Values("1", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"])),
    "dims": Values("zero_dim", refuse(["outside_dim"])),
    "dtype": Values("HTONE_F32", DTYPES),
    ("htone_parameter_read", "dtype"): Values("HTONE_F32", FLOATS),
    ("htone_autocast_policy_create", "dtype"): Values("HTONE_BF16", FLOATS + refuse(["HTONE_F64", "HTONE_F8E4M3"])),
    "end": Values("2"),
    "final_factor": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "form": Values("HTONE_GELU_ERF", refuse(["2", "-1"])),
    "high": Values("1.0", FINITE + refuse(["-1.0", "-2.0"])),
    "in_features": SIZE,
    "index": Values("0", INDEX),
    "keepdim": Values("0"),
    "low": Values("-1.0", FINITE),
    "mean": Values("0.0", FINITE),
    "name": Values('"cpu"', refuse(['"gpu"', '""', '"cpu:99"'], "DEVICE")),
    "ndim": NUMBER_OF_DIMS,
    "offset": Values("0.0", FINITE),
    "op": Values('"matmul"', refuse(['"no_such_operation"', '""'])),
    "out_features": SIZE,
    "path": Values('"/nowhere/plugin.so"', refuse(['"/nowhere/plugin.so"'], "IO")),
    "requires_grad": Values("0"),
    "retain_graph": Values("1"),
    "scale": Values("2.0", FINITE),
    "shape": Values("square", refuse(["negative_shape", "overflowing_shape"])),
    "size": Values("sizeof numbers", refuse(["0", "1", "SIZE_MAX"])),
    "start": Values("0"),
    "status": Values("HTONE_OK"),
    "std": Values("1.0", FINITE + refuse(["-1.0"])),
    "step": Values("1", refuse(["0", "-1", "INT64_MIN"])),
    "total_steps": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "user": Values("NULL"),
    "value": Values("1.0"),
}

# What a valid call needs before it and leaves to undo, beside its results.
BEFORE = {name + "_release": f"assert_ok({name}_retain({member}));" for name, (_, member, _) in HANDLES.items()
          if name != "htone_scope"}
BEFORE["htone_scope_end"] = "assert_ok(htone_no_grad_begin(&scope));"
AFTER = {name + "_retain": f"assert_ok({name}_release({member}));" for name, (_, member, _) in HANDLES.items()
         if name != "htone_scope"}
AFTER["htone_scope_end"] = "scope = fixture.scope;"

# No call of these can succeed here, and why.
NEVER_VALID = {"htone_context_load_plugin": "there is no plugin to load"}
# Failures that are not recorded as the last error.
UNRECORDED = {"htone_error_last"}
# Functions that answer no status: the call with each of these values must answer a string or a number.
PLAIN = {
    "htone_status_name": ["HTONE_OK", "-1", "18", "INT32_MAX", "INT32_MIN"],
    "htone_dtype_name": ["HTONE_F32", "0", "-1", "200", "INT32_MIN"],
    "htone_version": [""],
}


class GeneratorError(Exception):
    pass


@dataclass
class Parameter:
    type: str
    name: str
    direction: str
    text: str

    @property
    def handle(self):
        return self.type.removesuffix("*") if self.type.removesuffix("*") in HANDLES else None

    @property
    def out_handle(self):
        return self.type.removesuffix("**") if self.type.removesuffix("**") in HANDLES else None

    @property
    def options(self):
        match = re.fullmatch(r"(?:const )?(htone_\w+_options)\*", self.type)
        return match[1] if match and self.direction == "in" else None

    @property
    def pointer(self):
        return "*" in self.type and not self.handle

    @property
    def optional(self):
        return re.search(r"(?<!not )\boptional(?=[;,.])", self.text) is not None

    @property
    def optional_somewhere(self):
        return re.search(r"\boptional where\b", self.text) is not None


@dataclass
class Function:
    name: str
    answer: str
    parameters: list
    errors: str

    def requires(self, status):
        if status not in self.errors:
            raise GeneratorError(f"{self.name}: the test expects {status}, but the header documents '{self.errors}'")


def comment_text(comment):
    return re.sub(r"\s*\n \* ?", "\n", comment)


def described_parameters(text):
    """Name to (direction, text), from paragraphs such as "[in] a, b: any shapes"."""
    paragraphs = {}
    for match in re.finditer(r"\n\[(in|out|in,out)\] ([\w, ]+): (.*?)(?=\n\[|\n[A-Z][\w ]*:|\Z)", text, re.S):
        for name in match[2].split(","):
            paragraphs[name.strip()] = (match[1], " ".join(match[3].split()))
    return paragraphs


def split_parameters(text):
    """Declarations between a function's parentheses; commas within a callback's own parentheses do not count."""
    if text.strip() in ("", "void"):
        return []
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)]


def parse_declaration(declaration):
    callback = re.fullmatch(r"void \(\*(\w+)\)\(.*\)", declaration)
    if callback:
        return "callback", callback[1]
    match = re.fullmatch(r"(.*?)\s*(\**)\s*(\w+)", declaration)
    return match[1].strip() + match[2], match[3]


def parse_function(comment, answer, name, parameters):
    text = comment_text(comment)
    described = described_parameters(text)
    parsed = []
    for declaration in split_parameters(" ".join(parameters.split())):
        type_name, parameter = parse_declaration(declaration)
        if parameter not in described:
            raise GeneratorError(f"{name}: the comment does not describe {parameter}")
        parsed.append(Parameter(type_name, parameter, *described[parameter]))
    errors = re.search(r"\nErrors: (.*?)(?=\n[A-Z][a-z]+: |\Z)", text, re.S)
    return Function(name, answer, parsed, " ".join(errors[1].split()) if errors else "")


def parse_headers(paths):
    functions, structures = [], {}
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        for match in re.finditer(r"/\*((?:[^*]|\*(?!/))*)\*/\s*HTONE_API ([^;(]*?)(\w+)\(([^;]*)\);", text):
            functions.append(parse_function(match[1], match[2].strip(), match[3], match[4]))
        declared = len(re.findall(r"^HTONE_API ", text, re.M))
        if declared != sum(1 for _ in re.finditer(r"\*/\s*HTONE_API [^;(]*?\w+\([^;]*\);", text)):
            raise GeneratorError(f"{path}: a function has no comment right above it")
        for match in re.finditer(r"typedef struct (\w+) \{(.*?)\n\} \1;", text, re.S):
            body = re.sub(r"/\*.*?\*/", "", match[2], flags=re.S)
            structures[match[1]] = re.findall(r"(\w+)(?:\[\d+\])?;", body)
    return functions, structures


class Writer:
    """Writes the test of one function."""

    def __init__(self, function, structures):
        self.function = function
        self.structures = structures
        self.lines = []

    def line(self, text):
        self.lines.append("  " + text)

    def values(self, parameter):
        for key in ((self.function.name, parameter.name), parameter.name):
            if key in VALUES and (parameter.name not in ("a", "b") or parameter.type == "htone_dtype"):
                return VALUES[key]
        raise GeneratorError(f"{self.function.name}: the table has no values for {parameter.type} {parameter.name}")

    def declare(self, index, parameter):
        kind = parameter.type
        if parameter.handle:
            member = OTHER_HANDLES.get((self.function.name, parameter.name), HANDLES[parameter.handle][1])
            self.line(f"{kind} {parameter.name} = fixture.{member};")
        elif parameter.options:
            if parameter.options not in OPTIONS:
                raise GeneratorError(f"{self.function.name}: the table has no {parameter.options}")
            self.line(f"{kind} {parameter.name} = &fixture.{OPTIONS[parameter.options][0]};")
        elif parameter.direction != "in":
            self.line(f"{kind} {parameter.name} = result_memory({index % 4});")
        elif parameter.name in HANDLE_ARRAYS:
            member = HANDLES[HANDLE_ARRAYS[parameter.name]][1]
            self.line(f"{HANDLE_ARRAYS[parameter.name]}* {parameter.name}[2] = {{fixture.{member}, fixture.{member}}};")
        elif kind == "callback":
            self.line(f"void (*{parameter.name})(void*) = NULL;")
        else:
            self.line(f"{kind} {parameter.name} = {self.values(parameter).valid};")

    def call(self, **replaced):
        arguments = [replaced.get(parameter.name, parameter.name) for parameter in self.function.parameters]
        return f"{self.function.name}({', '.join(arguments)})"

    def refuse(self, parameter, index, what, status, value, text=""):
        self.function.requires(status)
        judge = "refused_silently" if self.function.name in UNRECORDED else "refused"
        quoted = what.replace('"', '\\"')
        self.line(f'{judge}((Wrong){{"{parameter.name}", {index}, "{quoted}", HTONE_{status}, "{text}"}}, '
                  f"{self.call(**{parameter.name: value})});")

    def accept(self, what, **replaced):
        self.line(f'accepted("{what}", {self.call(**replaced)});')
        for parameter in self.function.parameters:
            if parameter.out_handle:
                release = HANDLES[parameter.out_handle][2]
                self.line(f'accepted("a result to release", {release}(*{parameter.name}));')
        self.line("reset_results();")

    def valid_call(self):
        if self.function.name in NEVER_VALID:
            return
        if self.function.name in BEFORE:
            self.line(BEFORE[self.function.name])
        self.accept("valid arguments")
        if self.function.name in AFTER:
            self.line(AFTER[self.function.name])

    def bad_handles(self, parameter, index, kind, value):
        self.function.requires("INVALID_HANDLE")
        skips_null = parameter.optional or parameter.optional_somewhere
        element = parameter.name in HANDLE_ARRAYS
        self.line(f"for (size_t i = {1 if skips_null and not element else 0}; bad_handle({kind}, i).what != NULL; ++i) {{")
        self.line(f"  const BadHandle bad = bad_handle({kind}, i);")
        if element:
            self.line(f"  {parameter.name}[1] = bad.handle;")
        self.line(f'  refused((Wrong){{"{parameter.name}", {index}, bad.what, HTONE_INVALID_HANDLE, ""}}, '
                  f"{self.call(**{parameter.name: value})});")
        self.line("}")
        if element:
            self.line(f"{parameter.name}[1] = {parameter.name}[0];")

    def bad_options(self, parameter, index):
        name, structure = parameter.name, parameter.options
        member, short_is_whole = OPTIONS[structure]
        self.line(f"{structure} wrong = fixture.{member};")
        self.line("wrong.struct_size = 0;")
        self.refuse(parameter, index, "struct_size 0", "INVALID_ARGUMENT", "&wrong", "struct_size")
        if short_is_whole:
            self.line("wrong.struct_size = 4;")
            self.accept("options of their first field alone", **{name: "&wrong"})
        self.line(f"struct {{ {structure} known; unsigned char tail[16]; }} larger;")
        self.line("memset(&larger, 0, sizeof larger);")
        self.line(f"larger.known = fixture.{member};")
        self.line("larger.known.struct_size = sizeof larger;")
        self.accept("larger options that add nothing", **{name: "&larger.known"})
        self.line("larger.tail[3] = 1;")
        self.refuse(parameter, index, "larger options that add a field", "UNSUPPORTED", "&larger.known")
        for member_name in self.structures[structure]:
            if member_name in ("struct_size", "reserved"):
                continue
            if (structure, member_name) not in FIELDS:
                raise GeneratorError(f"the table has no values for {structure}.{member_name}")
            for value in FIELDS[structure, member_name] or []:
                self.line(f"wrong = fixture.{member};")
                self.line(f"wrong.{member_name} = {value};")
                self.refuse(parameter, index, f"{member_name} {value}", "INVALID_ARGUMENT", "&wrong", member_name)

    def bad_result_structure(self, parameter, index):
        for size in ("0", "15"):
            self.line(f"{parameter.name}->struct_size = {size};")
            self.line("note_results();")
            self.refuse(parameter, index, f"struct_size {size}", "INVALID_ARGUMENT", parameter.name)
        self.line(f"{parameter.name}->struct_size = sizeof *{parameter.name};")
        self.line("note_results();")

    def result_structure(self, parameter):
        return parameter.direction == "in,out" and parameter.type.removesuffix("*") in RESULT_STRUCTURES

    def misuse(self, index, parameter):
        if parameter.handle:
            self.bad_handles(parameter, index, HANDLES[parameter.handle][0], "bad.handle")
            return
        if parameter.pointer and not parameter.optional:
            self.refuse(parameter, index, "NULL", "INVALID_ARGUMENT", "NULL")
        if parameter.options:
            self.bad_options(parameter, index)
        elif self.result_structure(parameter):
            self.bad_result_structure(parameter, index)
        elif parameter.name in HANDLE_ARRAYS:
            self.bad_handles(parameter, index, HANDLES[HANDLE_ARRAYS[parameter.name]][0], parameter.name)
        elif parameter.direction == "in" and parameter.type != "callback":
            for value, status in self.values(parameter).wrong:
                self.refuse(parameter, index, value, status, value)

    def plain(self):
        if self.function.name not in PLAIN:
            raise GeneratorError(f"{self.function.name} answers no status and is not in the table")
        for value in PLAIN[self.function.name]:
            self.line(f"assert_true({self.function.name}({value}) != 0);")

    def status(self):
        for index, parameter in enumerate(self.function.parameters):
            self.declare(index, parameter)
        for parameter in filter(self.result_structure, self.function.parameters):
            self.line(f"{parameter.name}->struct_size = sizeof *{parameter.name};")
        self.line("note_results();")
        self.valid_call()
        for index, parameter in enumerate(self.function.parameters):
            self.misuse(index, parameter)

    def write(self):
        name = self.function.name
        self.line("(void)state;")
        self.line(f'begin_misuse("{name}");')
        self.plain() if self.function.answer != "htone_status" else self.status()
        self.line("end_misuse();")
        return f"static void {name}_refuses_every_wrong_argument(void** state) {{\n" + "\n".join(self.lines) + "\n}\n"


PREAMBLE = """/* Generated by generate_misuse.py from the public headers; not to be edited. */
#include <math.h>
#include <string.h>

#include "misuse_fixture.h"

static const int64_t square[] = {2, 2};
static const int64_t negative_shape[] = {2, -2};
static const int64_t overflowing_shape[] = {INT64_MAX, INT64_MAX};
static const int64_t zero_dim[] = {0};
static const int64_t outside_dim[] = {2};
static float numbers[] = {1, 2, 3, 4};
"""


def program(functions, structures):
    parts = [PREAMBLE] + [Writer(function, structures).write() for function in functions]
    tests = "".join(f"      cmocka_unit_test({function.name}_refuses_every_wrong_argument),\n" for function in functions)
    parts.append("int main(int argc, char** argv) {\n  const struct CMUnitTest tests[] = {\n" + tests +
                 "      cmocka_unit_test(a_million_random_handles_are_refused),\n  };\n"
                 "  return run_program(argc, argv, tests, COUNT_OF(tests));\n}\n")
    return "\n".join(parts)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        functions, structures = parse_headers(sys.argv[2:])
        text = program(functions, structures)
    except GeneratorError as error:
        sys.exit(f"generate_misuse.py: {error}")
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
