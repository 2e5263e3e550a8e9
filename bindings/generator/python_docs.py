"""The docstring of a Python function, from the comment of the C function.

It begins with the signature in the form from which Python makes `__text_signature__`, so that help() and inspect show
it.
"""
import json
import keyword
import re

from calls import Call, Parameter
from description import visible_fields

LITERALS = {"nullptr": "None", "true": "True", "false": "False", "Memory()": "b''"}


def python_default(default: str) -> str:
    """An enumeration's constant is its name in small letters, which every function takes."""
    if "::" in default:
        return repr(default.split("::")[1].lower())
    if re.fullmatch(r"[A-Z]\w*\(-?\d+\)", default):
        return default.partition("(")[2][:-1]  # a value without a name
    if default.endswith("List()") or default in ("Integers()", "Texts()"):
        return "()"
    return LITERALS.get(default, default)


def python_parameter(parameter: Parameter) -> str:
    if keyword.iskeyword(parameter.name):
        raise ValueError(f"{parameter.name} is a word of Python; names.py must rename it")
    return parameter.name + (f"={python_default(parameter.default)}" if parameter.default else "")


def signature(call: Call) -> str:
    first = ["$self"] if call.kind == "method" else []
    # Python looks for the name of the C function that SWIG makes.
    owner = f"{call.owner}_" if call.owner and call.kind != "constructor" else ""
    return f"{owner}{call.name}({', '.join(first + [python_parameter(item) for item in call.parameters])})"


def paragraphs(call: Call) -> list[str]:
    function = call.function
    described = [f"{item.name}: {item.text}" for item in call.parameters if item.text and item.text != "borrowed."]
    results = [argument["text"] for argument in function["arguments"] if argument["direction"] == "out"
               and argument["role"] not in ("out_length", "text_out")]
    tail = [f"Returns: {function['returns'] or '; '.join(results)}" if function["returns"] or results else "",
            f"Raises: {function['errors']}" if function["errors"] else "",
            f"Source: {function['source']}" if function["source"] else "", f"C: {function['name']}"]
    return [function["brief"], "\n".join(described), *tail]


def docstring(call: Call) -> str:
    body = "\n\n".join(filter(None, paragraphs(call)))
    end = "\n\n" if call.kind == "constructor" else "\n--\n\n"
    return signature(call) + end + body


def feature(call: Call) -> str:
    """SWIG reads the text as a string of C."""
    where = f"ht::{call.owner}::{call.name}" if call.owner else f"ht::{call.name}"
    return f'%feature("docstring") {where} {json.dumps(docstring(call), ensure_ascii=False)};\n'


def structure_text(structure: dict) -> str:
    fields = [f"{field['name']}: {field['text']}" for field in visible_fields(structure)]
    return f"{structure['text']}\n\n" + "\n".join(fields)
