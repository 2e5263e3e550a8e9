"""Types and values of Java and C#: what is the same in both but for how a language writes it, which its Target says."""
from dataclasses import dataclass
from typing import Callable

from calls import Parameter
from description import class_name, visible_fields
from managed import Managed, ManagedCall, options_class
from mirrors import mirrored, value


@dataclass(frozen=True)
class Target:
    """How a language writes types and values. A pattern has the class as {kind}, the variable or field as {name}, and
    {given}, which is the variable after a check that it is there.
    """
    type: Callable[[str], str]  # of a class
    variable: Callable[[str], str]  # of a parameter
    member: Callable[[str], str]  # of a field
    constant: Callable[[str], str]  # of Dtype::BF16
    default: Callable[[Parameter, str], str]  # of a parameter that has this type
    required: str  # the check of an argument
    boolean: str
    string: str
    unsigned: str
    arguments: dict[str, tuple[str, str]]  # by role or C++ type: the type, and how it is passed on
    results: dict[str, tuple[str, str]]  # by role or C++ type: the type, and the expression that makes it of `made`
    fields: dict[str, tuple[str, str, str]]  # by role or type, else plain: the type, how it is packed and unpacked

    def plain(self, cpp_type: str) -> str:
        return {"int64_t": "long", "size_t": "long", "uint64_t": self.unsigned, "int32_t": "int", "double": "double",
                "bool": self.boolean, "std::string": self.string, "Integers": "long[]", "Bytes": "byte[]"}[cpp_type]

    def callback_kind(self, kind: str) -> str:
        """The type of a function's parameter or result (callback_types.py)."""
        return {"tensor": "Tensor", "tensors": "Tensor[]", "module": self.type("Module"), "parameter": "Parameter",
                "text": self.string, "integer": "long", "flags": f"{self.boolean}[]", "number": "double",
                "": "void"}[kind]


@dataclass
class Shown:
    """A parameter as the language sees it: its type, how it is passed on, and its default."""
    type: str
    name: str
    passed: str
    default: str = ""
    role: str = ""

    def is_open(self) -> bool:
        """At the end an array may be written as any number of arguments."""
        return self.type.endswith("[]") and self.type != "byte[]"


def kind_of(managed: Managed, argument: dict, target: Target) -> str:
    """The class behind a C argument."""
    role = argument.get("role")
    if role == "callback":
        return managed.callbacks[argument["of"]].name()
    name = options_class(managed.api, argument) if role in ("options", "structure") else \
        class_name(argument.get("of", ""))
    return target.type(name)


def is_required(item: Parameter, source: dict) -> bool:
    """Null stands for an optional argument that is left out."""
    return not item.default and not (source.get("is_optional") and source["role"] in ("callback", "handle", "text"))


def show(managed: Managed, call: ManagedCall, item: Parameter, target: Target) -> Shown:
    name, source = target.variable(item.name), call.sources.get(item.name, {})
    role = source.get("role", "")
    if item.name == "async_op":
        return Shown(target.boolean, name, name)
    key = role if role in target.arguments else item.type
    if key not in target.arguments:
        kind = target.plain(item.type)
        return Shown(kind, name, name, target.default(item, kind))
    kind = kind_of(managed, source, target)
    type_, passed = (pattern.format(
        kind=kind, name=name, function=target.variable(kind),
        given=target.required.format(name) if is_required(item, source) else name) for pattern in target.arguments[key])
    return Shown(type_, name, passed, "" if role == "callback" else target.default(item, type_), role)


def result(managed: Managed, call: ManagedCall, target: Target) -> tuple[str, str]:
    """The type of a single result, and the expression that makes it of `made`."""
    cpp_type, _, role = call.results[0]
    key = role if role in target.results else cpp_type
    kind = kind_of(managed, call.results_of[0], target)
    type_, expression = target.results.get(key) or (target.plain(cpp_type), "made")
    return type_.format(kind=kind), expression.format(kind=kind)


@dataclass
class Member:
    """A field of a structure."""
    row: dict
    type: str
    name: str
    packed: str
    unpacked: str
    first: str  # its value in a new object
    is_setting: bool  # else the kind of the structure does not read it


def initial(managed: Managed, row: dict, values: dict[str, str], target: Target) -> str:
    text = value(values.get(row["name"], ""), managed.api)
    if row["role"] == "boolean":
        return "true" if text == "1" else "false"
    if row["role"] == "text":
        return '""'
    if row["role"] == "numbers":
        return "new long[0]"
    return target.constant(text) if "::" in text else {"nullptr": "null", "": "0"}.get(text, text)


def members(managed: Managed, initializer: str, target: Target) -> list[Member]:
    """The fields of a structure with the defaults of an initializer."""
    row, shown = managed.api.initializers[initializer], managed.api.settings(initializer)
    found = []
    for field in visible_fields(managed.api.structures[row["structure"]]):
        name, kind = target.member(field["name"]), target.type(class_name(field.get("of", "")))
        key = field["role"] if field["role"] in target.fields else target.plain(field["type"])
        type_, packed, unpacked = (pattern.format(name=name, kind=kind, type=key)
                                   for pattern in target.fields.get(key, target.fields["plain"]))
        found.append(Member(field, type_, name, packed, unpacked, initial(managed, field, row["values"], target),
                            field in shown))
    return found


def structures(managed: Managed) -> list[str]:
    """The initializers of structures that have a class."""
    return [name for name, row in managed.api.initializers.items() if row["structure"] in mirrored(managed.api)]
