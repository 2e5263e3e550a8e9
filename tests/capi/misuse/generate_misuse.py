#!/usr/bin/env python3
"""Writes the misuse test of the C API: every function of the headers with one wrong argument at a time.

    generate_misuse.py OUTPUT.c HEADER...

The headers define handles, results, options structures and optional parameters. misuse_tables.py lists a valid value
and wrong values for every other parameter. An unknown function, parameter or options field is an error, so nothing new
goes untested. misuse_judge.h defines how a call is judged.
"""

import sys
from pathlib import Path

import misuse_tables as tables
from api_headers import GeneratorError, parse_headers


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
            if key in tables.VALUES:
                return tables.VALUES[key]
        raise GeneratorError(f"{self.function.name}: the table has no values for {parameter.type} {parameter.name}")

    def declare(self, index, parameter):
        kind = parameter.type
        if parameter.handle:
            usual = tables.HANDLES[parameter.handle][1]
            member = tables.OTHER_HANDLES.get((self.function.name, parameter.name), usual)
            self.line(f"{kind} {parameter.name} = fixture.{member};")
        elif parameter.options:
            if parameter.options not in tables.OPTIONS:
                raise GeneratorError(f"{self.function.name}: the table has no {parameter.options}")
            self.line(f"{kind} {parameter.name} = &fixture.{tables.OPTIONS[parameter.options][0]};")
        elif parameter.direction != "in":
            self.line(f"{kind} {parameter.name} = result_memory({index % 4});")
        elif parameter.name in tables.HANDLE_ARRAYS:
            element = tables.HANDLE_ARRAYS[parameter.name]
            member = tables.OTHER_HANDLES.get((self.function.name, parameter.name), tables.HANDLES[element][1])
            self.line(f"{element}* {parameter.name}[2] = {{fixture.{member}, fixture.{member}}};")
        elif kind == "callback":
            self.line(f"void (*{parameter.name})(void*) = NULL;")
        else:
            self.line(f"{kind} {parameter.name} = {self.values(parameter).valid};")

    def call(self, **replaced):
        arguments = [replaced.get(parameter.name, parameter.name) for parameter in self.function.parameters]
        return f"{self.function.name}({', '.join(arguments)})"

    def refuse(self, parameter, index, what, status, value, text=""):
        self.function.requires(status)
        judge = "refused_silently" if self.function.name in tables.UNRECORDED else "refused"
        quoted = what.replace('"', '\\"')
        self.line(f'{judge}((Wrong){{"{parameter.name}", {index}, "{quoted}", HTONE_ERROR_{status}, "{text}"}}, '
                  f"{self.call(**{parameter.name: value})});")

    def accept(self, what, **replaced):
        if self.function.name in tables.NEVER_VALID:
            return
        if self.function.name in tables.BEFORE:
            self.line(tables.BEFORE[self.function.name])
        self.line(f'accepted("{what}", {self.call(**replaced)});')
        for parameter in self.function.parameters:
            if parameter.out_handle:
                release = tables.HANDLES[parameter.out_handle][2]
                self.line(f'accepted("a result to release", {release}(*{parameter.name}));')
                if parameter.name in tables.RESULT_ARRAYS:
                    self.line(f'accepted("a result to release", {release}({parameter.name}[1]));')
            elif parameter.type in tables.OTHER_RESULTS:
                self.line(f"{tables.OTHER_RESULTS[parameter.type]}(*{parameter.name});")
        self.line("reset_results();")
        if self.function.name in tables.AFTER:
            self.line(tables.AFTER[self.function.name])

    def valid_call(self):
        self.accept("valid arguments")

    def bad_handles(self, parameter, index, kind, value):
        self.function.requires("INVALID_HANDLE")
        skips_null = parameter.optional or parameter.optional_somewhere
        element = not parameter.handle and parameter.name in tables.HANDLE_ARRAYS
        first = 1 if skips_null and (not element or parameter.optional_somewhere) else 0
        self.line(f"for (size_t i = {first}; bad_handle({kind}, i).what != NULL; ++i) {{")
        self.line(f"  const BadHandle bad = bad_handle({kind}, i);")
        if element:
            self.line(f"  {parameter.name}[1] = bad.handle;")
        self.line(f'  refused((Wrong){{"{parameter.name}", {index}, bad.what, HTONE_ERROR_INVALID_HANDLE, ""}}, '
                  f"{self.call(**{parameter.name: value})});")
        self.line("}")
        if element:
            self.line(f"{parameter.name}[1] = {parameter.name}[0];")

    def bad_options(self, parameter, index):
        name, structure = parameter.name, parameter.options
        member, short_is_whole = tables.OPTIONS[structure]
        self.line("{")  # a function may have several structures
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
            if member_name in ("struct_size", "reserved", "reserved_field"):
                continue
            if (structure, member_name) not in tables.FIELDS:
                raise GeneratorError(f"the table has no values for {structure}.{member_name}")
            for value in tables.FIELDS[structure, member_name] or []:
                self.line(f"wrong = fixture.{member};")
                self.line(f"wrong.{member_name} = {value};")
                self.refuse(parameter, index, f"{member_name} {value}", "INVALID_ARGUMENT", "&wrong", member_name)
        self.line("}")

    def bad_result_structure(self, parameter, index):
        for size in ("0", "15"):
            self.line(f"{parameter.name}->struct_size = {size};")
            self.line("note_results();")
            self.refuse(parameter, index, f"struct_size {size}", "INVALID_ARGUMENT", parameter.name)
        self.line(f"{parameter.name}->struct_size = sizeof *{parameter.name};")
        self.line("note_results();")

    def result_structure(self, parameter):
        return parameter.direction == "in,out" and parameter.type.removesuffix("*") in tables.RESULT_STRUCTURES

    def misuse(self, index, parameter):
        if parameter.handle:
            self.bad_handles(parameter, index, tables.HANDLES[parameter.handle][0], "bad.handle")
            return
        if parameter.pointer and not parameter.optional:
            self.refuse(parameter, index, "NULL", "INVALID_ARGUMENT", "NULL")
        if parameter.options:
            self.bad_options(parameter, index)
        elif self.result_structure(parameter):
            self.bad_result_structure(parameter, index)
        elif parameter.name in tables.HANDLE_ARRAYS:
            element = tables.HANDLE_ARRAYS[parameter.name]
            self.bad_handles(parameter, index, tables.HANDLES[element][0], parameter.name)
        elif parameter.direction == "in" and parameter.type != "callback":
            for value, status in self.values(parameter).wrong:
                self.refuse(parameter, index, value, status, value)

    def plain(self):
        if self.function.name not in tables.PLAIN:
            raise GeneratorError(f"{self.function.name} returns no status and is not in the table")
        for value in tables.PLAIN[self.function.name]:
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
        if self.function.answer == "htone_status":
            self.status()
        else:
            self.plain()
        self.line("end_misuse();")
        # Shows rows A1, A2, A3, A4, A5, A18, A19, A25 and A29 of tests/faults.md, as far as one wrong argument can
        # show them.
        return f"static void {name}_refuses_every_wrong_argument(void** state) {{\n" + "\n".join(self.lines) + "\n}\n"


PREAMBLE = """/* Generated by generate_misuse.py from the public headers; not to be edited. */
#include <math.h>
#include <string.h>

#include "misuse_judge.h"

static const int64_t square[] = {2, 2};
static const char* const two_names[] = {"first", "second"};
static const char* const equal_names[] = {"first", "first"};
static const char* const dotted_names[] = {"first", "a.b"};
static const char* const null_names[] = {"first", NULL};
static const int32_t two_ranks[] = {1, 0};
static const int32_t two_directions[] = {HTONE_DIRECTION_SEND, HTONE_DIRECTION_RECEIVE};
static const int32_t no_directions[] = {3, HTONE_DIRECTION_SEND};
static const int64_t square_strides[] = {2, 1};
static const int64_t negative_shape[] = {2, -2};
static const int64_t overflowing_shape[] = {INT64_MAX, INT64_MAX};
static const int64_t zero_dim[] = {0};
static const int64_t both_dims[] = {1, 0};
static const int64_t outside_dim[] = {2};
static float numbers[] = {1, 2, 3, 4};
static const htone_row_type two_rows[] = {{.dtype = HTONE_F32, .ndim = 1, .shape = {2}}, {.dtype = HTONE_I64}};
static const htone_row_type rows_of_no_dtype[] = {{.dtype = HTONE_F32}, {.dtype = 200}};
static const htone_row_type rows_too_deep[] = {{.dtype = HTONE_F32}, {.dtype = HTONE_F32, .ndim = 8}};
static const htone_row_type rows_of_negative_size[] = {
    {.dtype = HTONE_F32}, {.dtype = HTONE_F32, .ndim = 1, .shape = {-1}}};
"""


def program(functions, structures):
    parts = [PREAMBLE] + [Writer(function, structures).write() for function in functions]
    names = [f"{function.name}_refuses_every_wrong_argument" for function in functions]
    tests = "".join(f"      cmocka_unit_test({name}),\n" for name in names)
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
