"""The functions and structures of the public headers, in the words of the misuse test."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from misuse_tables import HANDLES

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from public_headers import functions_of, structures_of  # noqa: E402: found by the path above


class GeneratorError(Exception):
    pass


@dataclass
class Parameter:
    type: str  # without a blank before its asterisks; "callback" for a pointer to a function
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
        match = re.fullmatch(r"(?:const )?(htone_(?:\w+_(?:options|state|functions|cost)|histogram))\*", self.type)
        return match[1] if match and self.direction == "in" else None

    @property
    def pointer(self):
        return "*" in self.type and not self.handle

    @property
    def optional(self):
        return re.search(r"(?<!not )\boptional(?=[;,.])", self.text) is not None

    @property
    def optional_somewhere(self):
        return re.search(r"\boptional (?:where|if)\b", self.text) is not None


@dataclass
class Function:
    name: str
    answer: str
    parameters: list
    errors: str

    def requires(self, status):
        if status not in self.errors:
            raise GeneratorError(f"{self.name}: the test expects {status}, but the header documents '{self.errors}'")


def parse_parameter(function, parameter, documented):
    if parameter.name not in documented:
        raise GeneratorError(f"{function.name}: the comment does not describe {parameter.name}")
    described = documented[parameter.name]
    kind = "callback" if "(*" in parameter.declaration else re.sub(r"\s+(?=\*)", "", parameter.type())
    return Parameter(kind, parameter.name, described.direction, described.text)


def parse_function(function):
    documented = function.documented()
    parameters = [parse_parameter(function, parameter, documented) for parameter in function.parameters]
    return Function(function.name, function.result, parameters, function.tag("errors"))


def parse_headers(paths):
    functions, structures = [], {}
    for path in map(Path, paths):
        for function in functions_of(path):
            if not function.comment:
                raise GeneratorError(f"{function.where()}: it has no comment right above it")
            functions.append(parse_function(function))
        structures.update({name: [member.name for member in members] for name, members in structures_of(path).items()})
    return functions, structures
