#!/usr/bin/python3
"""Writes the type stubs of the Python package, from the description of the C API and a handwritten stub.

  bindings/generator/python_stubs.py api.json bindings/python/by_hand.pyi FOLDER

__init__.pyi    by_hand.pyi, with the enumerations, structures, classes and functions that are generated
nn/layers.pyi   the layers of the table in halftone/nn/layers.py, which is beside by_hand.pyi

A class of by_hand.pyi keeps its lines, and so does each name in it: the generated ones are added.
"""
import argparse
import ast
import re
import sys
from pathlib import Path

from calls import Call, Parameter
from description import Api, class_name, constant_names, visible_fields
from interface import Interface, passed_type
from layer_stubs import LayerStubs
from mirrors import field_type, mirrored

PLAIN = {"bool": "bool", "double": "float", "float": "float", "std::string": "str", "const char*": "str",
         "Integers": "tuple[int, ...]", "Bytes": "bytes",
         "const Texts&": "Sequence[str]", "const Memory&": "Buffer", "const WritableMemory&": "Buffer",
         "Callback&": "Callable[..., object]", "void": "None"}
NUMBERS = {"int32_t", "int64_t", "uint32_t", "uint64_t", "size_t"}
# Arguments: numpy's integers are no int, and a path may stand for its text.
TAKEN = {**dict.fromkeys(NUMBERS, "SupportsIndex"), "const char*": "str | PathLike[str]",
         "const Integers&": "Sequence[SupportsIndex] | SupportsIndex"}
# Python's class of errors has its place.
HIDDEN = {"htone_error_info"}


class Stubs:
    def __init__(self, interface: Interface):
        self.api: Api = interface.api
        self.calls = interface.calls
        self.enumerations = {class_name(name) for name in self.api.enumerations}

    def result(self, cpp_type: str) -> str:
        if cpp_type in NUMBERS:
            return "int"
        if cpp_type.endswith("List"):
            return f"tuple[{cpp_type[:-4]}, ...]"
        # A call that waits returns no work.
        return PLAIN.get(cpp_type) or cpp_type.rstrip("*") + (" | None" if cpp_type == "Work*" else "")

    def taken(self, parameter: Parameter) -> str:
        cpp_type = parameter.type
        if cpp_type in self.enumerations:
            return f"{cpp_type} | str | int"
        accepts_none = "OrNone" in passed_type(parameter)
        if cpp_type.endswith("List&"):
            item = cpp_type.removeprefix("const ")[:-5]
            return f"Sequence[{item} | None] | None" if accepts_none else f"Sequence[{item}]"
        known = TAKEN.get(cpp_type) or PLAIN.get(cpp_type)
        known = known or self.result(cpp_type.removeprefix("const ").removesuffix("&"))
        return known + (" | None" if accepts_none else "")

    def parameters(self, call: Call) -> list[str]:
        return [f"{item.name}: {self.taken(item)}" + (" = ..." if item.default else "") for item in call.parameters]

    def method(self, call: Call) -> str:
        own = [] if call.kind == "static" else ["self"]
        taken = self.parameters(call)
        if call.owner == "Optimizer" and taken[:1] == ["module: Module"]:  # modules.py in the package
            taken[0] = "module: Module | Iterable[nn.Parameter]"
            taken += ["betas: tuple[float, float] = ..."] if "beta1: float = ..." in taken else []
        name, returned = (("__init__", "None") if call.kind == "constructor"
                          else (call.name, self.result(call.result_type())))
        decorated = "    @staticmethod\n" if call.kind == "static" else ""
        return f"{decorated}    def {name}({', '.join(own + taken)}) -> {returned}: ...\n"

    def members(self, handle: str) -> dict[str, str]:
        """The methods of a class by name."""
        mine = class_name(handle)
        calls = [call for call in self.calls if call.owner == mine]
        found = {"__init__" if call.kind == "constructor" else call.name: self.method(call) for call in calls}
        found.update({"close": "    def close(self) -> None: ...\n",
                      "__enter__": f"    def __enter__(self) -> {mine}: ...\n",
                      "__exit__": "    def __exit__(self, *exception: object) -> None: ...\n",
                      "thisown": "    thisown: bool\n"})
        if mine == "Tensor":
            found.update({name: text for name, text in self.operations().items() if name not in found})
        return found

    def operations(self) -> dict[str, str]:
        """The functions of a tensor as its methods."""
        found = {}
        for call in self.calls:
            if not call.owner and call.parameters and call.parameters[0].type == "Tensor*":
                rest = ", ".join(["self", *self.parameters(call)[1:]])
                found[call.name] = f"    def {call.name}({rest}) -> {self.result(call.result_type())}: ...\n"
        return found

    def functions(self) -> dict[str, str]:
        return {call.name: f"def {call.name}({', '.join(self.parameters(call))}) -> "
                           f"{self.result(call.result_type())}: ...\n" for call in self.calls if not call.owner}

    def enumeration(self, name: str) -> str:
        described = self.api.enumerations[name]
        names = constant_names(described)
        rows = "".join(f"    {names[value['name']]} = {value['value']}\n" for value in described["values"])
        return f"class {class_name(name)}(IntEnum):\n{rows}"

    def structure(self, name: str) -> str:
        fields = [(field["name"], self.result(field_type(field)))
                  for field in visible_fields(self.api.structures[name])]
        rows = "".join(f"    {field}: {kind}\n" for field, kind in fields)
        return (f"class {class_name(name)}:\n{rows}    def __init__(self) -> None: ...\n"
                "    def keys(self) -> list[str]: ...\n    def __getitem__(self, name: str) -> Any: ...\n")


def with_python_types(stub: str) -> str:
    """Names Python's types as builtins, because the package and its tensors have dtypes and methods of these names."""
    return re.sub(r"(?<![\w.])(?<!def )(bool|float|int)\b(?!: Dtype)", r"builtins.\1", stub)


def defined(nodes: list[ast.stmt]) -> set[str]:
    names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    assigned = (target for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    return names | {target.id for target in assigned if isinstance(target, ast.Name)}


def package_stub(stubs: Stubs, by_hand: str) -> str:
    """by_hand.pyi, whose classes are followed by their generated members."""
    tree, lines = ast.parse(by_hand), by_hand.splitlines(keepends=True)
    handles = {class_name(name): name for name in stubs.api.handles}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in reversed(tree.body):
        if isinstance(node, ast.ClassDef) and node.name in handles:
            known = defined(node.body)
            added = [text for name, text in stubs.members(handles[node.name]).items() if name not in known]
            lines[node.end_lineno:node.end_lineno] = added
    parts = ["".join(lines)]
    parts += [stubs.enumeration(name) for name in stubs.api.enumerations]
    parts += [stubs.structure(name) for name in mirrored(stubs.api) if name not in HIDDEN]
    parts += [f"class {name}:\n" + "".join(stubs.members(handle).values())
              for name, handle in handles.items() if name not in classes]
    known = defined(tree.body)
    parts += ["".join(text for name, text in stubs.functions().items() if name not in known)]
    return "\n".join(parts)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("description", type=Path)
    arguments.add_argument("by_hand", type=Path)
    arguments.add_argument("folder", type=Path)
    options = arguments.parse_args()
    stubs = Stubs(Interface(Api(options.description)))
    (options.folder / "nn").mkdir(parents=True, exist_ok=True)
    text = package_stub(stubs, options.by_hand.read_text(encoding="utf-8"))
    (options.folder / "__init__.pyi").write_text(with_python_types(text), encoding="utf-8")
    layers = LayerStubs(stubs, options.by_hand.parent / "halftone/nn/layers.py")
    (options.folder / "nn/layers.pyi").write_text(layers.text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
