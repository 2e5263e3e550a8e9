"""Reads the public headers: every exported function with its parameters and its comment, structures, enumerations.

Used by generate_api.py and the checks beside this file. Python's standard library is enough.
"""
import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"(?:/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*)?^HTONE_(?:API|EXPORT) (?P<declaration>[^;]*);",
                         re.S | re.M)
SIGNATURE = re.compile(r"(?P<result>.*?)\b(?P<name>htone_\w+)\((?P<parameters>.*)\)$", re.S)
STRUCTURE = re.compile(r"^(?:typedef )?struct (\w+) \{(.*?)^\}", re.S | re.M)
MEMBER = re.compile(r"(.*?)(\w+)((?:\[\w+\])*)$", re.S)
HANDLE_TYPE = re.compile(r"^typedef struct (htone_\w+) \1;", re.M)
FUNCTION_POINTER = re.compile(r"\(\*\s*(\w+)\)")
ENUMERATION = re.compile(r"^typedef enum (\w+) \{(.*?)^\} \1;", re.S | re.M)
INITIALIZER = re.compile(r"^#define HTONE_(\w+)_INIT\b", re.M)
COMMENTS = re.compile(r"/\*.*?\*/", re.S)
TAGS = re.compile(r"\n@(\w+)(?:\[(in|out|in,out)\])? ?(.*?)(?=\n@|\Z)", re.S)


@dataclass
class Parameter:
    name: str
    declaration: str

    def type(self) -> str:
        return re.sub(rf"\b{self.name}$", "", self.declaration).strip()


@dataclass
class Member:
    name: str
    type: str  # empty for a pointer to a function


@dataclass
class Documented:
    """Words of the comment about a parameter."""
    direction: str  # in, out or in,out
    text: str


@dataclass
class Function:
    header: Path
    line: int
    name: str
    result: str
    parameters: list[Parameter]
    comment: list[str]  # without the asterisks; empty where there is none

    def where(self) -> str:
        return f"{self.header.name}:{self.line}: {self.name}"

    def tags(self) -> list[tuple[str, str, str]]:
        """Each "@tag[direction] text" of the comment, on one line."""
        comment = "\n" + "\n".join(self.comment)
        return [(tag, direction, " ".join(text.split())) for tag, direction, text in TAGS.findall(comment)]

    def tag(self, name: str) -> str:
        return next((text for tag, _, text in self.tags() if tag == name), "")

    def brief(self) -> str:
        """The comment before its first tag."""
        return " ".join(re.split(r"\n@", "\n" + "\n".join(self.comment))[0].split())

    def documented(self) -> dict[str, Documented]:
        """The parameters that the comment describes: "@param[in] a,b any shapes" describes two."""
        found = {}
        for tag, direction, text in self.tags():
            if tag == "param":
                names, _, words = text.partition(" ")
                found.update({name: Documented(direction, words) for name in names.split(",")})
        return found


def header_paths(root: Path = REPOSITORY) -> list[Path]:
    """The headers of the tree. Of version.h there is the template that it is made from."""
    return sorted((root / "capi/include/halftone").glob("*.h")) + [root / "cmake/version.h.in"]


def split_parameters(text: str) -> list[Parameter]:
    """Cuts at the commas that are not inside a function pointer's own list."""
    pieces, depth = [""], 0
    for character in " ".join(text.split()):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    pieces = [piece.strip() for piece in pieces]
    return [] if pieces in ([""], ["void"]) else [Parameter(parameter_name(piece), piece) for piece in pieces]


def parameter_name(declaration: str) -> str:
    pointer = FUNCTION_POINTER.search(declaration)
    return pointer.group(1) if pointer else re.search(r"(\w+)$", declaration).group(1)


def comment_lines(comment: str | None) -> list[str]:
    if comment is None:
        return []
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return lines[:-1] if lines and not lines[-1] else lines


def functions_of(header: Path) -> list[Function]:
    text = header.read_text(encoding="utf-8")
    found = []
    for match in DECLARATION.finditer(text):
        signature = SIGNATURE.match(match["declaration"].strip())
        line = text.count("\n", 0, match.start("declaration")) + 1
        if signature is None:
            raise ValueError(f"{header}:{line}: cannot read the declaration {match['declaration']!r}")
        found.append(Function(header, line, signature["name"], signature["result"].strip(),
                              split_parameters(signature["parameters"]), comment_lines(match["comment"])))
    return found


def all_functions(root: Path = REPOSITORY) -> list[Function]:
    return [function for header in header_paths(root) for function in functions_of(header)]


def handle_types(root: Path = REPOSITORY) -> set[str]:
    """The opaque types: declared and never defined in a header."""
    return {name for header in header_paths(root) for name in HANDLE_TYPE.findall(header.read_text(encoding="utf-8"))}


def member_of(declaration: str) -> Member:
    pointer = FUNCTION_POINTER.search(declaration)
    if pointer:
        return Member(pointer[1], "")
    kind, name, extents = MEMBER.match(" ".join(declaration.split())).groups()
    return Member(name, kind.strip() + extents)


def structures_of(header: Path) -> dict[str, list[Member]]:
    text = COMMENTS.sub("", header.read_text(encoding="utf-8"))
    return {name: [member_of(declaration) for declaration in body.split(";")[:-1]]
            for name, body in STRUCTURE.findall(text)}


def structures(root: Path = REPOSITORY) -> dict[str, list[Member]]:
    return {name: members for header in header_paths(root) for name, members in structures_of(header).items()}


def enumerations(root: Path = REPOSITORY) -> dict[str, list[str]]:
    """Each named enumeration with its constants."""
    found = {}
    for header in header_paths(root):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        for name, body in ENUMERATION.findall(text):
            found[name] = re.findall(r"\b(HTONE_\w+)\b =", body)
    return found


def initializers(root: Path = REPOSITORY) -> set[str]:
    """The macros HTONE_<NAME>_INIT, by <NAME>."""
    return {name for header in header_paths(root) for name in INITIALIZER.findall(header.read_text(encoding="utf-8"))}
