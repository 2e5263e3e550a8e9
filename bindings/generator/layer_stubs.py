"""The type stubs of the layers, from their table in halftone/nn/layers.py. A function without arguments of its own has
those of the library.
"""
import ast
import re
from pathlib import Path

HEAD = """from collections.abc import Sequence
from typing import Any, Optional, SupportsIndex, Union

from .. import {names}
from .. import Parameter as _Handle
from . import Parameter

"""
# Arguments that are no attributes; Module has a function named dropout, which mypy would compare.
NOT_SET = {"bias", "device", "dropout", "dtype"}
RETURNED = {0: "Tensor", 1: "tuple[Tensor, Tensor]", 2: "tuple[Tensor, tuple[Tensor, Tensor]]"}


class LayerStubs:
    def __init__(self, stubs, table: Path):
        self.stubs = stubs
        self.tree = ast.parse(table.read_text(encoding="utf-8"))
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    def text(self) -> str:
        assigned = {node.targets[0].id: node.value for node in self.tree.body if isinstance(node, ast.Assign)
                    and isinstance(node.targets[0], ast.Name)}
        types = "".join(f"{name} = {ast.unparse(value)}\n" for name, value in assigned.items()
                        if isinstance(value, ast.Subscript))
        classes = "".join(self.layer(row) for row in assigned["LAYERS"].elts)
        used = self.stubs.enumerations & set(re.findall(r"\b[A-Z]\w+", types + classes))
        head = HEAD.format(names=", ".join(sorted({"Device", "Module", "Tensor", *used})))
        tied = "def TiedLinear(weight: Parameter | _Handle, bias: Parameter | _Handle | None = ...) -> Linear: ...\n"
        return head + types + classes + "\n" + tied

    def layer(self, row: ast.Call) -> str:
        name, create, make = row.args[0].value, row.args[1].value, row.args[2].id
        states = next((item.value.value for item in row.keywords if item.arg == "states"), 0)
        arguments = self.functions[make].args
        if arguments.kwarg:
            return f"\nclass {name}(Module):\n{self.of_the_library(create)}"
        given, count = arguments.args[1:], len(arguments.args) - 1
        required = count - len(arguments.defaults)
        taken = "".join(f", {ast.unparse(item)}" + ("" if place < required else " = ...")
                        for place, item in enumerate(given))
        passed = "input: Tensor, hx: Any = ..." if states else "input: Tensor"
        return (f"\nclass {name}(Module):\n{attributes(given, states)}"
                f"    def __init__(self{taken}) -> None: ...\n"
                f"    def __call__(self, {passed}, **settings: Any) -> {RETURNED[states]}: ...\n")

    def of_the_library(self, create: str) -> str:
        call = next(call for call in self.stubs.calls if call.owner == "Module" and call.name == create)
        taken = [item for item in self.stubs.parameters(call) if not item.startswith("device:")]
        return f"    def __init__(self, {', '.join(taken)}, *, device: _Place = ...) -> None: ...\n"


def attributes(given: list, states: int) -> str:
    """The settings of a layer, and its parameters."""
    names = {item.arg for item in given}
    made = "".join(f"    {ast.unparse(item)}\n" for item in given if item.arg not in NOT_SET)
    if "dtype" in names and not states:
        made += "    weight: Parameter\n"
        if names & {"bias", "affine"}:
            made += "    bias: Parameter | None\n"
    return made
