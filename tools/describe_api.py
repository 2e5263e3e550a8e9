#!/usr/bin/python3
"""Writes a machine-readable description of the C API, from the public headers: what the bindings are made from.

  tools/describe_api.py build/release/generated/api.json

  functions      name, header, result, arguments (argument_roles.py lists their roles), noun and verb, brief, errors,
                 source, since, comment
  handles        by type: what it is, create functions, whether it has retain and release
  enumerations   by type: values with number and meaning
  structures     by type: fields with type, role, meaning, extent of an array, the kinds that read it; initializers
  initializers   by name: the structure, the value of each field, and the kind that has these defaults. A structure of
                 several kinds has one for each, and one of its own name, which is that of the first kind.
  callbacks      by type: the declaration

A declaration whose meaning is unclear is an error that names it.
"""
import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from argument_roles import NUMBERS, Argument, Types, pointee, plain_type, read_arguments, value_role
from public_headers import (FUNCTION_POINTER, REPOSITORY, Function, all_functions, comment_lines,
                            enumerations, handle_types, header_paths, structures)

COMMENTED = r"(?:/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*)?"
CALLBACK = re.compile(COMMENTED + r"^typedef (?P<declaration>[\w ]+\(\*(?P<name>htone_\w+)\)\([^;]*);", re.S | re.M)
HANDLE = re.compile(COMMENTED + r"^typedef struct (?P<name>htone_\w+) (?P=name);", re.S | re.M)
STRUCTURE = re.compile(COMMENTED + r"^typedef struct (?P<name>\w+) \{(?P<body>.*?)^\}", re.S | re.M)
ENUMERATION = re.compile(COMMENTED + r"^typedef enum (?P<name>\w+) \{(?P<body>.*?)^\}", re.S | re.M)
VALUE = re.compile(r"(?:/\*\*(?P<above>[^<](?:(?!\*/).)*)\*/\s*)?(?P<name>HTONE_\w+) =\s+(?P<value>[^,\s]+),?"
                   r"(?:\s*/\*\*<(?P<behind>(?:(?!\*/).)*)\*/)?", re.S)
FIELD = re.compile(r"(?:/\*\*(?P<above>[^<](?:(?!\*/).)*)\*/\s*)?(?P<declaration>[^;/]+);"
                   r"(?:\s*/\*\*<(?P<behind>(?:(?!\*/).)*)\*/)?", re.S)
DECLARED = re.compile(r"(?P<type>.*?)\s*(?P<name>\w+)(?:\[(?P<extent>\w+)\])?$", re.S)
INITIALIZER = re.compile(r"^#define HTONE_(?P<name>\w+)_INIT\b[\s\\]*(?P<value>\{(?:.*\\\n)*.*)", re.M)
# "[SGD, RMSprop] default 0": the kinds of optimizers that read a setting.
KINDS = re.compile(r"\[(\w+(?:, \w+)*)\] ")
# Their values fix a size.
LAST_VALUE = "_MAX_ENUM"


def words(comment: str | None) -> str:
    return " ".join(" ".join(comment_lines(comment)).split()) if comment else ""


def sources(root: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in header_paths(root))


def describe_enumerations(text: str) -> dict:
    found = {}
    for match in ENUMERATION.finditer(text):
        values = [{"name": value["name"], "value": int(value["value"], 0),
                   "text": words(value["above"] or value["behind"])}
                  for value in VALUE.finditer(match["body"]) if not value["name"].endswith(LAST_VALUE)]
        found[match["name"]] = {"text": words(match["comment"]), "values": values}
    return found


def describe_field(structure: str, match: re.Match, types: Types) -> dict:
    text = words(match["above"]) or words(match["behind"])
    kinds = KINDS.match(text)
    text = text[kinds.end():] if kinds else text
    declaration = " ".join(match["declaration"].split())
    if "(*" in declaration:
        return {"name": FUNCTION_POINTER.search(declaration)[1], "type": "callback", "role": "callback", "of": "",
                "extent": "", "text": text}
    parts = DECLARED.match(declaration)
    kind, name, extent = plain_type(parts["type"]), parts["name"], parts["extent"] or ""
    role, of = field_role(kind, name, text, extent, types)
    if not role:
        raise ValueError(f"{structure}.{name}: the role of {kind} is unclear")
    field = {"name": name, "type": kind, "role": role, "of": of, "extent": extent, "text": text}
    return field | ({"kinds": kinds[1].lower().split(", ")} if kinds else {})


def field_role(kind: str, name: str, text: str, extent: str, types: Types) -> tuple[str, str]:
    target = pointee(kind)
    if name in ("struct_size", "reserved", "reserved_field") and kind == "uint32_t":
        return "filler", ""
    if target == "char":
        return "text", ""
    if extent:
        return "numbers", ""
    if target in types.handles:
        return ("handle" if kind.count("*") == 1 else "handles"), target
    if target in types.structures:
        return "structure", target
    if target == "void":
        return "user", ""
    if "*" in kind:
        return ("numbers", "") if target.removeprefix("const") in NUMBERS else ("", "")
    role = value_role(kind, name, text, types)
    return role, kind if role == "enum" else ""


def describe_structures(text: str, types: Types) -> dict:
    return {match["name"]: {"text": words(match["comment"]),
                            "fields": [describe_field(match["name"], member, types)
                                       for member in FIELD.finditer(match["body"])]}
            for match in STRUCTURE.finditer(text)}


def split_values(text: str) -> list[str]:
    """Cuts an initializer at the commas of its own level."""
    inner = " ".join(text.replace("\\\n", " ").split()).strip()
    pieces, depth = [""], 0
    for character in inner[1:inner.rindex("}")]:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces]


def describe_initializers(text: str, found: dict) -> dict:
    described = {}
    for match in INITIALIZER.finditer(text):
        values = split_values(match["value"])
        structure = re.fullmatch(r"sizeof\((\w+)\)", values[0])[1]
        names = [member["name"] for member in found[structure]["fields"]]
        if len(names) != len(values):
            raise ValueError(f"HTONE_{match['name']}_INIT has {len(values)} values for {len(names)} fields")
        name = match["name"].lower()
        row = {"structure": structure, "values": dict(zip(names, values))}
        if structure != f"htone_{name}" and "kind" in names:
            described.setdefault(structure.removeprefix("htone_"), row)
            row = row | {"kind": name.removesuffix("_options")}
        described[name] = row
    return described


def initializer_of(function: Function, structure: str, described: dict) -> str:
    name = structure.removeprefix("htone_")
    if name not in described:
        raise ValueError(f"{function.where()}: {structure} has no macro of defaults")
    return name


def describe_argument(function: Function, argument: Argument, initializers: dict) -> dict:
    row = {key: value for key, value in asdict(argument).items() if value not in ("", {}, 1) or key == "name"}
    row["is_optional"] = argument.is_optional
    if argument.role == "options" or argument.role == "structure" and argument.direction != "in":
        row["initializer"] = initializer_of(function, argument.of, initializers)
    return row


def noun_of(function: Function, arguments: list[Argument]) -> tuple[str, str]:
    """The noun is a handle that the function takes or makes and whose name begins the function's name. Of
    htone_module_state_dict it is the module, and the verb is state_dict.
    """
    for argument in arguments:
        if argument.role == "handle" and function.name.startswith(argument.of + "_"):
            return argument.of, function.name.removeprefix(argument.of + "_")
    return "", function.name.removeprefix("htone_")


def describe_function(function: Function, types: Types, initializers: dict) -> dict:
    arguments = read_arguments(function, types)
    noun, verb = noun_of(function, arguments)
    return {"name": function.name, "header": function.header.name.removesuffix(".in"), "result": function.result,
            "noun": noun, "verb": verb,
            "arguments": [describe_argument(function, argument, initializers) for argument in arguments],
            "brief": function.brief(), "returns": function.tag("return"), "errors": function.tag("errors"),
            "source": function.tag("source"), "since": function.tag("since")}


def describe_handles(text: str, functions: list[dict]) -> dict:
    names = {function["name"] for function in functions}
    return {match["name"]: {"text": words(match["comment"]),
                            "create": [name for name in sorted(names) if name.startswith(match["name"] + "_create")],
                            "is_counted": {match["name"] + "_retain", match["name"] + "_release"} <= names}
            for match in HANDLE.finditer(text)}


def describe(root: Path = REPOSITORY) -> dict:
    text = sources(root)
    callbacks = {match["name"]: {"text": words(match["comment"]), "declaration": " ".join(match["declaration"].split())}
                 for match in CALLBACK.finditer(text)}
    types = Types(handle_types(root), set(enumerations(root)), set(structures(root)), set(callbacks))
    found = describe_structures(text, types)
    initializers = describe_initializers(text, found)
    functions = [describe_function(function, types, initializers) for function in all_functions(root)]
    return {"functions": functions, "handles": describe_handles(text, functions),
            "enumerations": describe_enumerations(text), "structures": found, "initializers": initializers,
            "callbacks": callbacks}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("output", type=Path)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    options = arguments.parse_args()
    try:
        text = json.dumps(describe(options.root), indent=1) + "\n"
    except ValueError as error:
        print(f"describe_api.py: {error}", file=sys.stderr)
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
