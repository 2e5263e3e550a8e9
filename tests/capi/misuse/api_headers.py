"""Reads the functions and structures of the public headers for tests: declarations with their comments."""

import re
from dataclasses import dataclass
from pathlib import Path

from misuse_tables import HANDLES


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
        match = re.fullmatch(r"(?:const )?(htone_\w+_(?:options|state|functions|cost))\*", self.type)
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


def comment_text(comment):
    return re.sub(r"\s*\n \* ?", "\n", comment)


def described_parameters(text):
    """Maps each name to (direction, text), from paragraphs such as "@param[in] a,b any shapes"."""
    paragraphs = {}
    for match in re.finditer(r"\n@param\[(in|out|in,out)\] ([\w,]+) (.*?)(?=\n@|\Z)", text, re.S):
        for name in match[2].split(","):
            paragraphs[name] = (match[1], " ".join(match[3].split()))
    return paragraphs


def split_parameters(text):
    """Splits the declarations between a function's parentheses. Commas inside a callback's own parentheses do not
    count.
    """
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
    errors = re.search(r"\n@errors (.*?)(?=\n@|\Z)", text, re.S)
    return Function(name, answer, parsed, " ".join(errors[1].split()) if errors else "")


def parse_headers(paths):
    functions, structures = [], {}
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        for match in re.finditer(r"/\*\*((?:[^*]|\*(?!/))*)\*/\s*HTONE_(?:API|EXPORT) ([^;(]*?)(\w+)\(([^;]*)\);", text):
            functions.append(parse_function(match[1], match[2].strip(), match[3], match[4]))
        declared = len(re.findall(r"^HTONE_(?:API|EXPORT) ", text, re.M))
        if declared != sum(1 for _ in re.finditer(r"\*/\s*HTONE_(?:API|EXPORT) [^;(]*?\w+\([^;]*\);", text)):
            raise GeneratorError(f"{path}: a function has no comment right above it")
        for match in re.finditer(r"typedef struct (\w+) \{(.*?)\n\} \1;", text, re.S):
            body = re.sub(r"/\*.*?\*/", "", match[2], flags=re.S)
            structures[match[1]] = re.findall(r"(\w+)(?:\[\d+\])?;", body)
    return functions, structures
