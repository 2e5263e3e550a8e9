"""Javadoc from the comments of the C header, in Java's names. Each parameter and each result has a line, as doclint
requires.
"""
import re
import textwrap

from java_names import WORDS, identifier, java_class, method_name
from managed import Managed, ManagedCall
from vocabulary import Language, Vocabulary
from words import result_name

WIDTH = 110
JAVA = Language("Halftone", java_class, method_name, str, identifier, identifier, WORDS)


def escaped(text: str) -> str:
    """Javadoc reads HTML. The backquotes of the headers become code; `*/` would end the comment."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*/", "*&#47;")
    plain = re.sub(r"`([^`{}]*)`", r"{@code \1}", plain)
    return re.sub(r"@(?!code )", "&#64;", plain)


def comment(paragraphs: list[str], indent: str) -> str:
    lines = []
    for paragraph in filter(None, paragraphs):
        lines += textwrap.wrap(paragraph, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


class JavaDocs:
    def __init__(self, managed: Managed):
        self.words = Vocabulary(managed, JAVA)

    def text(self, paragraph: str, indent: str = "", is_boolean: bool = False) -> str:
        return comment([escaped(self.words.of_value(paragraph, is_boolean))], indent) if paragraph else ""

    def parameter(self, name: str, text: str, is_boolean: bool = False) -> str:
        return f"@param {name} {escaped(self.words.described(text, name, is_boolean))}"

    def method(self, call: ManagedCall, shown: set[str], returns: bool = True, result: str = "") -> str:
        function = call.function
        tags = [self.parameter(identifier(item.name), item.text, item.type == "bool") for item in call.parameters
                if identifier(item.name) in shown]
        if returns and call.kind != "constructor":
            tags.append(f"@return {result or escaped(self.words.results(call))}")
        source = f"<p>Source: {escaped(function['source'])}" if function["source"] else ""
        errors = f"<p>Errors: {escaped(self.words.translated(function['errors']))}" if function["errors"] else ""
        brief = escaped(self.words.translated(function["brief"]))
        return comment([brief, errors, source, f"<p>C: {function['name']}", *tags], "  ")

    def record(self, call: ManagedCall) -> str:
        fields = [self.parameter(identifier(result_name(row)), row.get("text", "")) for row in call.results_of]
        return comment([f"The results of {{@code {method_name(call)}}}.", *fields], "  ")

    def setter(self, member: dict) -> str:
        name = identifier(member["name"])
        value = self.words.described(member["text"], name, member["role"] == "boolean")
        return comment([f"Sets {{@link #{name}}}.", f"@param value {escaped(value)}",
                        "@return this object"], "  ")
