#!/usr/bin/python3
"""Writes the SWIG interface of the C API, from its description (tools/describe_api.py).

  bindings/generator/interface.py api.json FOLDER

halftone_api.i     the enumerations, structures, classes and functions for SWIG
texts.py           the texts of the enumerations
names.py           the Python names of what messages of the library mention
operations.py      the names of the functions that are methods of a tensor in Python, too
reached.json       the name by which each C function is reached, and for the others why there is none
"""
import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import python_docs
from calls import Call, Parameter, Unbound, build
from description import Api, class_name
from mirrors import enumerations_text, mirrored, structures_text
from names import DEFAULTS, PYTHON_BY_HAND
from python_words import Words

READ = """    return {reader}([&](auto* out, auto capacity, auto* out_length) {{
      return {function}({arguments});
    }});"""


def body(call: Call) -> str:
    lines = [f"    {line}" for line in call.setup]
    name, arguments = call.function["name"], ", ".join(call.arguments)
    if call.results and call.results[0][2] == "returned":
        return "\n".join(lines + [f"    return {name}({arguments});"])
    if call.results and call.results[0][2] == "read":
        return "\n".join(lines + [READ.format(reader=call.results[0][1], function=name, arguments=arguments)])
    lines.append(f"    check({name}({arguments}));")
    lines += [f"    {line}" for line in call.after]
    if len(call.results) == 1:
        lines.append(f"    return {call.results[0][1]};")
    elif call.results:
        numbers = [f"int64_t({result[1]})" if result[2] == "number" else result[1] for result in call.results]
        lines.append(f"    return {call.result_type()}{{{', '.join(numbers)}}};")
    return "\n".join(lines)


def passed_type(parameter: Parameter) -> str:
    """The type with OrNone accepts None (swig/python/typemaps.i)."""
    if parameter.type.endswith("List&") and "NULL" in parameter.text:
        return parameter.type.replace("List&", "OrNoneList&")
    if not parameter.is_optional or (parameter.type == "const Integers&" and parameter.name != "dims"):
        return parameter.type  # None is no shape
    known = {"const char*": "TextOrNone", "Callback&": "CallbackOrNone&", "const Integers&": "const IntegersOrNone&"}
    return known.get(parameter.type) or re.sub(r"^(\w+)\*$", r"\1OrNone*", parameter.type)


def definition(call: Call) -> str:
    parameters = ", ".join(replace(parameter, type=passed_type(parameter)).declaration(with_default=True)
                           for parameter in call.parameters)
    head = f"{call.result_type()} {call.name}"
    if call.kind == "constructor":
        head = call.name
    elif call.kind == "static":
        head = "static " + head
    return f"  {head}({parameters}) {{\n{body(call)}\n  }}\n"


def handle_text(name: str, api: Api, calls: list[Call]) -> str:
    mine = class_name(name)
    is_released = f"{name}_release" in api.names
    plain = f"%nodefaultctor {mine};\n" + ("" if is_released else f"%nodefaultdtor {mine};\n")
    destructor = f"  ~{mine}() {{ (void)!{name}_release($self); }}\n" if is_released else ""
    methods = "\n".join(definition(call) for call in calls)
    return f"""namespace ht {{
{plain}struct {mine} {{}};
%halftone_handle({mine})
%extend {mine} {{
{destructor}
{methods}}}
}}

"""


def function_text(calls: list[Call]) -> str:
    methods = "\n".join(definition(call).replace("  ", "inline ", 1) for call in calls)
    return f"%inline %{{\nnamespace ht {{\n{methods}}}  // namespace ht\n%}}\n"


def class_features(api: Api, words: Words) -> str:
    texts = {name: row["text"] for name, row in api.handles.items()}
    texts.update({name: python_docs.structure_text(row) for name, row in mirrored(api).items()})
    return "".join(f'%feature("docstring") ht::{class_name(name)} {json.dumps(words.text(text), ensure_ascii=False)};\n'
                   for name, text in texts.items())


def features(calls: list[Call], words: Words) -> str:
    owned = "".join(f"%newobject ht::{call.owner + '::' if call.owner else ''}{call.name};\n"
                    for call in calls if call.is_owned() and call.kind != "constructor")
    return owned + "".join(python_docs.feature(call, words) for call in calls)


def handle_types(api: Api) -> str:
    """SWIG's helpers have names such as Tensor_shape; after the C structure they would have names of C functions."""
    names = [class_name(name) for name in api.handles]
    aliases = "".join(f"using {class_name(name)} = ::{name};\nusing {class_name(name)}List = std::vector<::{name}*>;\n"
                      for name in api.handles)
    aliases += "".join(f"using {name}OrNone{kind} = {name}{kind};\n" for name in names for kind in ("", "List"))
    declared = "".join(f"struct {name};\nstruct {name}OrNone;\n" for name in names)
    arrays = "".join(f"%halftone_handles({name})\n" for name in names)
    return (f"%{{\nnamespace ht {{\n{aliases}}}  // namespace ht\nusing namespace ht;\n%}}\n"
            f"namespace ht {{\n{declared}}}\n{arrays}")


def operations_text(calls: list[Call]) -> str:
    names = [call.name for call in calls if not call.owner and call.parameters and call.parameters[0].type == "Tensor*"]
    rows = "".join(f'    "{name}",\n' for name in names)
    return '"""Functions whose first argument is a tensor. Generated by bindings/generator/interface.py."""\n\n' \
           f"OPERATIONS = (\n{rows})\n"


def reached_name(call: Call) -> str:
    if call.kind == "constructor":
        return call.owner
    return f"{call.owner}.{call.name}" if call.owner else call.name


class Interface:
    def __init__(self, api: Api):
        self.api = api
        self.calls: list[Call] = []
        self.reached: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        for function in api.functions:
            self.add(function)
        self.check_defaults()
        self.words = Words(api, self.reached)

    def add(self, function: dict) -> None:
        name = function["name"]
        if name in PYTHON_BY_HAND:
            self.reached[name] = PYTHON_BY_HAND[name]
        elif name.endswith("_release"):
            self.reached[name] = class_name(name.removesuffix("_release")) + ".close"
        elif name.endswith("_retain"):
            self.left_out[name] = "an object owns exactly one reference"
        elif name.endswith("_init") and name.removesuffix("_init") in mirrored(self.api):
            self.reached[name] = class_name(name.removesuffix("_init"))
        else:
            self.wrap(function)

    def wrap(self, function: dict) -> None:
        try:
            call = build(self.api, function)
        except Unbound as reason:
            self.left_out[function["name"]] = str(reason)
            return
        self.calls.append(call)
        self.reached[function["name"]] = reached_name(call)

    def check_defaults(self) -> None:
        """A default of names.py that no function has any more is an error."""
        used = {parameter.name for call in self.calls for parameter in call.parameters}
        used |= {(call.function["name"], parameter.name) for call in self.calls for parameter in call.parameters}
        unknown = [key for key in DEFAULTS if key not in used]
        if unknown:
            raise ValueError(f"names.py has a default for {unknown[0]}, which no function takes")

    def text(self) -> str:
        classes = "".join(handle_text(name, self.api, [call for call in self.calls if call.owner == class_name(name)])
                          for name in self.api.handles)
        functions = [call for call in self.calls if not call.owner]
        return "\n".join(["/* Generated by bindings/generator/interface.py. */", handle_types(self.api),
                          enumerations_text(self.api), class_features(self.api, self.words), structures_text(self.api),
                          features(self.calls, self.words), classes,
                          function_text(functions)])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("description", type=Path)
    arguments.add_argument("folder", type=Path)
    options = arguments.parse_args()
    try:
        interface = Interface(Api(options.description))
        text = interface.text()
    except ValueError as error:
        print(f"interface.py: {error}", file=sys.stderr)
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "halftone_api.i").write_text(text, encoding="utf-8")
    (options.folder / "operations.py").write_text(operations_text(interface.calls), encoding="utf-8")
    (options.folder / "texts.py").write_text(python_docs.enumeration_texts(interface.api, interface.words),
                                             encoding="utf-8")
    (options.folder / "names.py").write_text(interface.words.module(), encoding="utf-8")
    reached = {"reached": interface.reached, "left_out": interface.left_out}
    (options.folder / "reached.json").write_text(json.dumps(reached, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
