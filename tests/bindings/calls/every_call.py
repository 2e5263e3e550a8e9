"""Calls every function of the C API once through the binding of a language, with a value for each parameter.

  every_call.py java API.JSON FILE      writes the program EveryCall
  every_call.py csharp API.JSON FILE
  every_call.py python API.JSON         calls
  every_call.py run COMMAND...          runs a program in an empty folder

A call must return, or be refused with the status in fixture.REFUSED. Functions with callbacks are left to callbacks_test
and its neighbours, and functions around which a binding is written by hand to its other tests."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bindings/generator"))
import csharp_classes  # noqa: E402: found by the path above
import java_names  # noqa: E402
from description import Api, class_name, constant_names  # noqa: E402
from fixture import ABSENT_IN_PYTHON, OBJECTS, REFUSED, RESULTS, SETTINGS, value_of  # noqa: E402
from interface import Interface  # noqa: E402
from managed import Managed, options_class  # noqa: E402
from words import pascal, sentence_case  # noqa: E402

CALLBACKS = {"htone_function", "htone_hook", "htone_graph"}  # made of functions of the program


class Java:
    """Expressions of the language."""

    line = '    suite.call("{name}", Status.{status}, () -> {expression});\n'
    program = """import org.halftone.*;

/** Written by tests/bindings/calls/every_call.py. */
public final class EveryCall {{
  public static void main(String[] arguments) {{
    Suite suite = new Suite();
    Device device = new Device("cpu");
{calls}    suite.finish();
  }}
}}
"""
    ops, end, booleans, memory, string = "Halftone", ".close()", ("false", "true"), "new byte[16]", "String"

    def member(self, kind: str, name: str) -> str:
        return f"{kind}.{self.constant(name)}"

    def constant(self, name: str) -> str:
        return name

    def number(self, value, cpp_type: str) -> str:
        return str(value) + ("" if cpp_type in ("double", "int32_t") else "L")

    def array(self, kind: str, values: list[str]) -> str:
        return f"new {kind}[] {{{', '.join(values)}}}"

    def options(self, kind: str, settings: dict[str, str]) -> str:
        return f"new {kind}()" + "".join(f".{self.setting(name)}({value})" for name, value in settings.items())

    def name(self, call) -> str:
        return java_names.method_name(call)

    def type(self, name: str) -> str:
        return java_names.java_class(name)

    def setting(self, name: str) -> str:
        return java_names.identifier(name)

    def call(self, call, owner: str, arguments: list[str], is_asynchronous: bool) -> str:
        made = f"new {self.type(call.owner)}" if call.kind == "constructor" else f"{owner}.{self.name(call)}"
        return f"{made}{'Async' if is_asynchronous else ''}({', '.join(arguments)})"

    def statement(self, call, expression: str) -> str:
        return expression

    def is_written_by_hand(self, call) -> bool:
        return call.function["name"] in ("htone_scope_stack_enter", "htone_scope_stack_leave")  # ScopeStack.call has both


class CSharp(Java):
    line = '    suite.Call("{name}", Status.{status}, () => {expression});\n'
    program = """using System;
using Halftone;

/// <summary>Written by tests/bindings/calls/every_call.py.</summary>
static class EveryCall {{
  static int Main() {{
    var suite = new Suite();
    var device = new Device("cpu");
{calls}    return suite.Finish();
  }}
}}
"""
    ops, end, string = "Ops", ".Dispose()", "string"

    def constant(self, name: str) -> str:
        return sentence_case(name)

    def number(self, value, cpp_type: str) -> str:
        return super().number(value, cpp_type).replace("L", "UL" if cpp_type == "uint64_t" else "L")

    def options(self, kind: str, settings: dict[str, str]) -> str:
        return f"new {kind} {{{', '.join(f'{pascal(name)} = {value}' for name, value in settings.items())}}}"

    def name(self, call) -> str:
        return pascal(call.own_name())

    def type(self, name: str) -> str:
        return name

    def call(self, call, owner: str, arguments: list[str], is_asynchronous: bool) -> str:
        made = super().call(call, owner, arguments, is_asynchronous)
        return made.removesuffix("()") if csharp_classes.is_property(call) else made

    def statement(self, call, expression: str) -> str:
        return f"GC.KeepAlive({expression})" if csharp_classes.is_property(call) else expression

    def is_written_by_hand(self, call) -> bool:
        return csharp_classes.is_written_by_hand(call)


class Python(Java):
    """Each argument has its name, and settings are arguments."""

    # The functions of the package may be others, under PyTorch's names, around these.
    ops, end, booleans, memory = "ht.halftone", ".end()", ("False", "True"), "bytes(16)"

    def type(self, name: str) -> str:
        return name

    def is_written_by_hand(self, call) -> bool:
        return False

    def member(self, kind: str, name: str) -> str:
        return f"ht.{kind}.{name}"

    def number(self, value, cpp_type: str) -> str:
        return str(value)

    def array(self, kind: str, values: list[str]) -> str:
        return f"[{', '.join(values)}]"

    def options(self, kind: str, settings: dict[str, str]) -> str:
        return f"made(ht.{kind}, dict({', '.join(f'{name}={value}' for name, value in settings.items())}))"

    def call(self, call, owner: str, arguments: list[str], is_asynchronous: bool) -> str:
        given = ", ".join(arguments + ["async_op=True"] * is_asynchronous)
        return f"ht.{call.owner}({given})" if call.kind == "constructor" else f"use({owner}, {call.name!r}, dict({given}))"


class Program:
    """The calls as expressions of a language."""

    def __init__(self, api: Api, language: Java):
        self.api, self.language, self.is_python = api, language, isinstance(language, Python)
        calls = Interface(api).calls if self.is_python else Managed(api).calls
        self.calls = {self.key(call): call for call in calls}

    def kind(self, call) -> str:
        """The kind of options that the call is for: "adamw"; empty where options have no kinds."""
        initializers = [row["initializer"] for row in call.function["arguments"] if "kind" in row]
        return self.api.initializers[initializers[0]]["kind"] if initializers else ""

    def key(self, call) -> str:
        """The C function, and the kind where a language has a function for each."""
        name, verb, kind = call.function["name"], call.function["verb"], self.kind(call)
        return name.removesuffix(verb.replace(f"_{kind}", "", 1)) + verb if kind else name

    def plain(self, value, cpp_type: str) -> str:
        return self.language.booleans[value] if isinstance(value, bool) else self.language.number(value, cpp_type)

    def options(self, argument: dict) -> str:
        kind = options_class(self.api, argument)
        types = {row["name"]: row["type"] for row in self.api.structures[argument["of"]]["fields"]}
        return self.language.options(self.language.type(kind), {name: self.plain(value, types[name])
                                            for name, value in SETTINGS.get(kind, {}).items()})

    def value(self, function: str, argument: dict, given: dict) -> str:
        role, language, of = argument["role"], self.language, argument.get("of", "")
        if (function, argument["name"]) in RESULTS:
            return self.object(RESULTS[function, argument["name"]])
        if role in ("options", "structure"):
            return self.options(argument)
        if role == "bytes":
            return language.memory
        value = given[argument["name"]] if argument["name"] in given else value_of(function, argument)
        if role == "handle":
            return self.object(value)
        if role == "handles":
            return language.array(language.type(class_name(of)), list(map(self.object, value)))
        if role == "texts":
            return language.array(language.string, list(map(json.dumps, value)))
        if role == "enum":
            return language.member(language.type(class_name(of)), constant_names(self.api.enumerations[of])[value])
        if role == "numbers":
            return language.array("long", list(map(str, value)))
        return json.dumps(value) if role == "text" else self.plain(value, argument["type"])

    def object(self, name: str) -> str:
        if name == "device":
            return name
        function, arguments = OBJECTS[name]
        return self.expression(self.calls[function], arguments)

    def argument(self, call, item, given: dict) -> str | None:
        """None if the parameter is left out."""
        rows = {row["name"]: row for row in call.function["arguments"]}
        row = rows.get("in" if item.name == "source" and "in" in rows else item.name)
        if row and (row["role"] != "options" or not self.is_python or not item.default):
            return self.value(call.function["name"], row, given)
        settings = SETTINGS.get(options_class(self.api, rows["options"]), {}) if "options" in rows else {}
        return self.plain(settings[item.name], item.type) if item.name in settings else None

    def expression(self, call, given: dict) -> str:
        """With the values that are given, and the usual ones for the other parameters."""
        owner = self.language.type(call.owner) or self.language.ops
        if call.kind == "method":
            row, kind = call.function["arguments"][0], self.kind(call)
            owner = self.value(call.function["name"], row, {row["name"]: f"{kind}_optimizer"} if kind else given)
        elif call.owner and self.is_python:
            owner = f"ht.{owner}"
        passed = [(item.name, self.argument(call, item, given)) for item in call.parameters]
        texts = [f"{name}={text}" if self.is_python else text for name, text in passed if text is not None]
        return self.language.call(call, owner, texts, "async_op" in given)

    def statements(self) -> list[tuple[str, str, str]]:
        """The C function, the status that it returns, and the expression that calls it."""
        found = []
        for name, call in self.calls.items():
            rows = call.function["arguments"]
            is_left = self.language.is_written_by_hand(call)
            if is_left or any(row["role"] == "callback" or row.get("of") in CALLBACKS for row in rows):
                continue
            end = self.language.end if call.results and call.results[0][0] == "Scope*" else ""
            expression = self.language.statement(call, self.expression(call, {}))
            is_refused = name in REFUSED and not (self.is_python and name in ABSENT_IN_PYTHON)
            found.append((name, REFUSED[name] if is_refused else "OK", expression + end))
        return found

    def text(self) -> str:
        lines = [self.language.line.format(name=name, status=self.language.constant(status), expression=expression)
                 for name, status, expression in self.statements()]
        return self.language.program.format(calls="".join(lines))


def run(statements: list[tuple[str, str, str]]) -> int:
    import halftone as ht

    def use(owner, name: str, arguments: dict):
        found = getattr(owner, name)
        return found(**arguments) if callable(found) else found

    def made(kind, settings: dict):
        structure = kind()
        for name, value in settings.items():
            setattr(structure, name, value)
        return structure

    names, failed = {"ht": ht, "use": use, "made": made, "device": ht.Device("cpu")}, 0
    for function, expected, expression in statements:
        found = "OK"
        try:
            eval(expression, names)
        except Exception as error:  # of the library, or a mistake of the binding
            found = f"{error.status.name if isinstance(error, ht.HalftoneException) else type(error).__name__}: {error}"
        if found.split(":")[0] != expected:
            failed += 1
            print(f"FAILED {function}: {found}: {expression}")
    print(f"{len(statements) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    language, description = sys.argv[1:3]
    if language == "run":
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(sys.argv[2:], cwd=folder).returncode
    program = Program(Api(Path(description)), {"java": Java, "csharp": CSharp, "python": Python}[language]())
    if language != "python":
        Path(sys.argv[3]).write_text(program.text(), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        return run(program.statements())


if __name__ == "__main__":
    sys.exit(main())
