"""XML documentation from the comments of the C header."""
import re
import textwrap

from managed import ManagedCall
from words import camel

WIDTH = 112


def escaped(text: str) -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"`([^`]*)`", r"<c>\1</c>", plain)


def element(name: str, content: str, indent: str) -> str:
    closing = name.split()[0]
    lines = textwrap.wrap(f"<{name}>{content}</{closing}>", WIDTH - len(indent), break_long_words=False,
                          break_on_hyphens=False)
    return "".join(f"{indent}/// {line}\n" for line in lines)


def text(paragraph: str, indent: str = "") -> str:
    return element("summary", escaped(paragraph), indent) if paragraph else ""


def method(call: ManagedCall, shown: set[str], returns: bool = True) -> str:
    function = call.function
    lines = element("summary", escaped(function["brief"]), "  ")
    for item in call.parameters:
        if item.text and {camel(item.name), "@" + camel(item.name)} & shown:
            lines += element(f'param name="{camel(item.name)}"', escaped(item.text), "  ")
    results = [argument["text"] for argument in call.results_of if argument.get("text")]
    returned = function["returns"] or "; ".join(results)
    if returns and call.results and returned and call.kind != "constructor":
        lines += element("returns", escaped(returned), "  ")
    remarks = [f"Errors: {function['errors']}" if function["errors"] else "",
               f"Source: {function['source']}" if function["source"] else "", f"C: {function['name']}"]
    return lines + element("remarks", escaped(" ".join(filter(None, remarks))), "  ")
