"""The words of the C headers' comments in those of Java or C#: functions, types, constants and parameters have the names
of the language, and what concerns C alone is left out.
"""
import re
from dataclasses import dataclass
from typing import Callable

from description import class_name, constant_names
from managed import Managed

# Who owns an object needs no word where objects are collected.
OWNERSHIP = re.compile(r"(?:[;,] )?\b(?:borrowed|retained|owned by the caller|caller's memory)(?=[.;,)]|$)")
TOKENS = re.compile(r'"[^"]*"|(?P<quoted>`[^`]*`)|\bhtone_\w+(?:\.\w+)?|\bHTONE_\w+(?:\.{3})?|\b[a-z]\w*_\w+')


@dataclass
class Language:
    """How a language names what the C API declares."""
    ops: str  # the class of functions without an object
    type: Callable[[str], str]  # of a class
    method: Callable  # of a call
    constant: Callable[[str], str]  # of an enumeration's constant
    identifier: Callable[[str], str]  # of a parameter
    member: Callable[[str], str]  # of a method or a field
    words: dict[str, str]


class Vocabulary:
    def __init__(self, managed: Managed, language: Language):
        self.language, api = language, managed.api
        self.names = {name: language.type(class_name(name)) for name in
                      [*api.handles, *api.enumerations, *api.structures, *api.callbacks]}
        self.prefixes = {}  # HTONE_LOAD_... is any constant of its enumeration
        for name, described in api.enumerations.items():
            kind = self.names[name]
            for constant, short in constant_names(described).items():
                self.names[constant] = f"{kind}.{language.constant(short)}"
                self.prefixes["_".join(constant.split("_")[:2])] = kind
        self.names |= {name: self.by_hand(path) for name, path in managed.reached.items()}
        self.names |= {call.function["name"]: self.member(call) for call in managed.calls}
        functions = [row for function in api.functions for row in function["arguments"]]
        fields = [row for described in api.structures.values() for row in described["fields"]]
        self.parameters = {row["name"] for row in functions + fields if "_" in row["name"]}
        self.word = re.compile(rf"\b({'|'.join(language.words)})\b") if language.words else None

    def by_hand(self, path: str) -> str:
        """tensor.close of a name that the generator has recorded: {ops}.live_handles is Halftone.liveHandles."""
        owner, _, name = path.format(ops=self.language.ops).partition(".")
        return f"{self.language.type(owner)}.{self.language.member(name)}" if name else self.language.type(owner)

    def member(self, call) -> str:
        owner = self.language.type(call.owner) or self.language.ops
        of_kinds = any("kind" in row for row in call.function["arguments"])
        return owner if call.kind == "constructor" or of_kinds else f"{owner}.{self.language.method(call)}"

    def token(self, found: re.Match) -> str:
        text = found[0]
        if text.startswith('"'):
            return text
        if found["quoted"]:
            return "`" + TOKENS.sub(lambda inner: self.token(inner).strip("`"), text[1:-1]) + "`"
        if text in self.parameters:
            return self.language.identifier(text)
        whole, _, field = text.rstrip(".").partition(".")
        name = self.prefixes.get(whole.rstrip("_")) if text.endswith("...") else self.names.get(whole)
        if name is None:
            return text
        return f"`{name}{'.' + self.language.member(field) if field else ''}`"

    def translated(self, text: str) -> str:
        plain = OWNERSHIP.sub("", text)
        plain = re.sub(r"\bNULL\b", "null", plain)
        plain = re.sub(r"^\[(?:count|ndim|length)\] |^[;,. ]+(?!\d)|[;, ]+(?=[.;])|(?<!\.)\.(?=;)", "", plain).strip()
        if self.word:
            plain = self.word.sub(lambda found: self.language.words[found[0]], plain)
        return TOKENS.sub(self.token, plain)

    def of_value(self, text: str, is_boolean: bool) -> str:
        """The text of a parameter, a field or a result, which in C may be 1 or 0 for true and false."""
        plain = self.translated(text)
        if is_boolean:
            plain = re.sub(r"\b(?:not 0|nonzero)\b", "true", plain)
            plain = re.sub(r"\b1 or 0\b", "true or false", plain)
            plain = re.sub(r"\belse 0\b", "else false", plain)
            plain = re.sub(r"\bdefault ([01])\b", lambda found: "default " + ("false", "true")[int(found[1])], plain)
            plain = re.sub(r"^([01])(?=[ ,:;.])", lambda found: ("false", "true")[int(found[1])], plain)
        return plain


    def described(self, text: str, name: str, is_boolean: bool = False) -> str:
        """A value whose text says no more than who owns it has its name as a description."""
        plain = self.of_value(text, is_boolean)
        return plain if re.search(r"\w", plain) else "the " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()

    def results(self, call) -> str:
        is_boolean = call.results[0][2] == "boolean"
        texts = [call.function["returns"]] if call.function["returns"] else \
            [row["text"] for row in call.results_of if not row.get("text", "").startswith("caller's memory")]
        found = filter(None, (self.of_value(text, is_boolean).rstrip(".") for text in texts))
        return "; ".join(found) or "the result"
