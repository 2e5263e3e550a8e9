"""The description of the C API (tools/describe_api.py), with the names that C++ and the languages use."""
import json
import re
from pathlib import Path

from names import TYPES


class Api:
    def __init__(self, path: Path):
        description = json.loads(path.read_text(encoding="utf-8"))
        self.handles = description["handles"]
        self.enumerations = description["enumerations"]
        self.structures = description["structures"]
        self.initializers = description["initializers"]
        self.callbacks = description["callbacks"]
        self.functions = [one for function in description["functions"] for one in self.by_kind(function)]
        self.names = {function["name"] for function in self.functions}

    def by_kind(self, function: dict) -> list[dict]:
        """A function whose options have kinds is a function for each kind in a language: htone_optimizer_create is
        create_adamw, htone_optimizer_add_group is add_adamw_group. A setter takes what its getter returns.
        """
        options = next((row for row in function["arguments"] if row["role"] == "options"), {"of": ""})
        initializers = [name for name, row in self.initializers.items()
                        if row["structure"] == options["of"] and "kind" in row]
        if not initializers or function["verb"].startswith("set_"):
            return [function]
        return [self.of_kind(function, options, name) for name in initializers]

    def of_kind(self, function: dict, options: dict, initializer: str) -> dict:
        kind, values = self.initializers[initializer]["kind"], self.initializers[initializer]["values"]
        first, _, rest = function["verb"].partition("_")
        text = next(row["text"] for described in self.enumerations.values() for row in described["values"]
                    if row["name"] == values["kind"])
        mine = options | {"initializer": initializer, "kind": values["kind"], "is_optional": True,
                          "text": "NULL means the defaults."}
        return function | {"verb": "_".join(filter(None, (first, kind, rest))),
                           "brief": f"{function['brief']} The kind: {text.removesuffix('.')}.",
                           "arguments": [mine if row is options else row for row in function["arguments"]]}

    def settings(self, initializer: str) -> list[dict]:
        """The fields that a caller sets over the defaults of an initializer: those that its kind reads."""
        row = self.initializers[initializer]
        fields = visible_fields(self.structures[row["structure"]])
        if "kind" not in row:
            return fields
        return [field for field in fields if field["name"] != "kind" and row["kind"] in field.get("kinds", [row["kind"]])]

    def filled(self, initializer: str, variable: str) -> str:
        """The call that fills a structure with the defaults of an initializer."""
        row = self.initializers[initializer]
        has_kinds = any("kind" in other for other in self.initializers.values()
                        if other["structure"] == row["structure"])
        kind = f"{row['values']['kind']}, " if has_kinds else ""
        return f"check({row['structure']}_init({kind}&{variable}));"


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
