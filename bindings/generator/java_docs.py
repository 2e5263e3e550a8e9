"""Javadoc from the comments of the C header."""
import re
import textwrap

from managed import ManagedCall
from words import camel

WIDTH = 110


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


def text(paragraph: str, indent: str = "") -> str:
    return comment([escaped(paragraph)], indent) if paragraph else ""


def method(call: ManagedCall, shown: set[str], returns: bool = True) -> str:
    function = call.function
    tags = [f"@param {camel(item.name)} {escaped(item.text)}" for item in call.parameters
            if camel(item.name) in shown and item.text]
    results = [argument["text"] for argument in call.results_of if argument.get("text")]
    returned = function["returns"] or "; ".join(results)
    if returns and call.results and returned and call.kind != "constructor":
        tags.append(f"@return {escaped(returned)}")
    source = f"<p>Source: {escaped(function['source'])}" if function["source"] else ""
    errors = f"<p>Errors: {escaped(function['errors'])}" if function["errors"] else ""
    return comment([escaped(function["brief"]), errors, source, f"<p>C: {function['name']}", *tags], "  ")


def record(call: ManagedCall) -> str:
    return comment([f"The results of {{@code {camel(call.name)}}}."], "  ")


def setter(member: dict) -> str:
    return comment([f"Sets {{@link #{camel(member['name'])}}}.", "@return this object"], "  ")
