"""XML documentation from the comments of the C header, in the names of C#."""
import re
import textwrap

from managed import Managed, ManagedCall
from vocabulary import Language, Vocabulary
from words import camel, pascal, sentence_case

WIDTH = 112
CSHARP = Language("Ops", str, lambda call: pascal(call.own_name()), sentence_case, camel, pascal, {})


def escaped(text: str) -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"`([^`]*)`", r"<c>\1</c>", plain)


def element(name: str, content: str, indent: str) -> str:
    closing = name.split()[0]
    lines = textwrap.wrap(f"<{name}>{content}</{closing}>", WIDTH - len(indent), break_long_words=False,
                          break_on_hyphens=False)
    return "".join(f"{indent}/// {line}\n" for line in lines)


class CsharpDocs:
    def __init__(self, managed: Managed):
        self.words = Vocabulary(managed, CSHARP)
        self.words.names |= {"htone_scope_end": "Scope.Dispose", "htone_handles_begin": "Scope.Begin"}

    def text(self, paragraph: str, indent: str = "", is_boolean: bool = False) -> str:
        return element("summary", escaped(self.words.of_value(paragraph, is_boolean)), indent) if paragraph else ""

    def parameters(self, call: ManagedCall, shown: set[str]) -> str:
        names = [(camel(item.name), item) for item in call.parameters]
        names = [("dim" if name == "dims" and "dim" in shown else name, item) for name, item in names]
        return "".join(element(f'param name="{name}"', escaped(self.words.described(item.text, name, item.type == "bool")),
                               "  ") for name, item in names if {name, "@" + name} & shown)

    def method(self, call: ManagedCall, shown: set[str], returns: bool = True) -> str:
        function = call.function
        lines = element("summary", escaped(self.words.translated(function["brief"])), "  ") + self.parameters(call, shown)
        if returns and call.results and call.kind != "constructor":
            lines += element("returns", escaped(self.words.results(call)), "  ")
        remarks = [f"Errors: {self.words.translated(function['errors'])}" if function["errors"] else "",
                   f"Source: {function['source']}" if function["source"] else "", f"C: {function['name']}"]
        return lines + element("remarks", escaped(" ".join(filter(None, remarks))), "  ")
