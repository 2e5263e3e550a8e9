"""The description of the C API (tools/describe_api.py), with the names that C++ and the languages use."""
import json
import re
from pathlib import Path

from names import TYPES


class Api:
    def __init__(self, path: Path):
        description = json.loads(path.read_text(encoding="utf-8"))
        self.functions = description["functions"]
        self.handles = description["handles"]
        self.enumerations = description["enumerations"]
        self.structures = description["structures"]
        self.initializers = description["initializers"]
        self.callbacks = description["callbacks"]
        self.names = {function["name"] for function in self.functions}


def class_name(name: str) -> str:
    """htone_state_dict is StateDict."""
    return TYPES.get(name) or "".join(part.capitalize() for part in name.removeprefix("htone_").split("_"))


def common_prefix(names: list[str]) -> str:
    """HTONE_MASTER_ of HTONE_MASTER_FULL and HTONE_MASTER_NONE."""
    parts = [name.split("_") for name in names]
    length = 0
    while all(len(words) > length + 1 and words[length] == parts[0][length] for words in parts):
        length += 1
    return "_".join(parts[0][:length]) + "_"


def constant_names(enumeration: dict) -> dict[str, str]:
    """The name of each constant within its enumeration."""
    names = [value["name"] for value in enumeration["values"]]
    prefix = common_prefix(names)
    return {name: re.sub(r"^ERROR_", "", name.removeprefix(prefix)) for name in names}


def visible_fields(structure: dict) -> list[dict]:
    """Without those that only the library reads, and those that have functions of the caller."""
    return [field for field in structure["fields"] if field["role"] in VISIBLE_ROLES]


VISIBLE_ROLES = {"number", "boolean", "enum", "text", "numbers", "handle"}


def is_of_callbacks(name: str, structure: dict) -> bool:
    """Such a structure is a table of functions, or what a callback receives."""
    return name.endswith("_call") or any(field["role"] == "callback" for field in structure["fields"])
