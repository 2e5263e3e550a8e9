"""The role of each argument of the C API: what it means, beyond its C type, and which arguments belong together.

Used by describe_api.py. An argument whose role does not follow from its type, its name and its comment is an error.

  number, boolean, enum, text      one value in, or out (`direction`)
  handle, handles                  an object, or an array of `length` objects; a result is owned by the caller, but the
                                   object of an out argument of one asterisk exists and is written
  any_handle                       a handle of any type
  numbers, texts, structures       an array of `length` entries, or of `length` times `factor`
  length                           the number of entries of the arrays in `of`
  options                          settings, NULL means the defaults of `initializer`
  structure                        another structure, in or out
  text_out, numbers_out, bytes_out the caller's memory, of `capacity`; `out_length` is written
  bytes                            memory of `length` bytes, or as many as the call implies
  capacity, out_length             the companions of a result
  pointer                          an address that another library understands
  callback, user, destroy          a function of the caller, its argument, and what ends the two
"""
import re
from dataclasses import dataclass, field

from public_headers import Function, Parameter

NUMBERS = {"int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "double", "float"}
OUT_LENGTHS = {"out_length", "out_ndim", "out_count", "out_size"}
# "0 to size - 1" and "0: a default number" are no booleans.
BOOLEAN_TEXT = re.compile(r"\bnot 0\b|\bnonzero\b|\b1 or 0\b|^1 if\b|^1 in\b|^0 (?:puts|returns)\b")
# Their comments refer to another argument.
BOOLEAN_NAMES = {"align_corners", "divides_by_active", "enabled", "rotary_interleaved", "deterministic", "warm_start",
                 "broadcast_buffers"}


@dataclass
class Types:
    """The names that the headers define."""
    handles: set[str]
    enumerations: set[str]
    structures: set[str]
    callbacks: set[str]


@dataclass
class Argument:
    name: str
    type: str
    direction: str
    role: str = ""
    of: str = ""  # the handle, enumeration or structure
    is_optional: bool = False
    length: str = ""  # the argument that tells the number of entries
    factor: int = 1
    companions: dict[str, str] = field(default_factory=dict)  # capacity, out_length, user and destroy by their role
    text: str = ""


def plain_type(declared: str) -> str:
    return re.sub(r"\s+(?=\*)", "", declared)


def pointee(declared: str) -> str:
    return re.sub(r"^const |^struct |[\s*]|\bconst\b", "", declared)


def is_boolean(declared: str, name: str, text: str) -> bool:
    return declared == "int32_t" and (name in BOOLEAN_NAMES or BOOLEAN_TEXT.search(text) is not None)


def value_role(declared: str, name: str, text: str, types: Types) -> str:
    """The role of a single value; empty if the type is not that of one."""
    if declared in types.enumerations:
        return "enum"
    if declared in NUMBERS:
        return "boolean" if is_boolean(declared, name, text) else "number"
    return ""


class Reader:
    """Gives the arguments of one function their roles."""

    def __init__(self, function: Function, types: Types):
        self.function = function
        self.types = types
        # An int64_t is a size that the shape of a result refers to.
        self.lengths = {parameter.name for parameter in function.parameters
                        if plain_type(parameter.type()) in ("size_t", "int32_t")}
        documented = function.documented()
        self.arguments = [self.plain(parameter, documented) for parameter in function.parameters]
        self.by_name = {argument.name: argument for argument in self.arguments}

    def fail(self, argument: Argument, why: str) -> ValueError:
        return ValueError(f"{self.function.where()}: {argument.type} {argument.name}: {why}")

    def plain(self, parameter: Parameter, documented: dict) -> Argument:
        if parameter.name not in documented:
            raise ValueError(f"{self.function.where()}: the comment does not describe {parameter.name}")
        described = documented[parameter.name]
        kind = "callback" if "(*" in parameter.declaration else plain_type(parameter.type())
        is_optional = re.search(r"(?<!not )\boptional\b", described.text) is not None
        return Argument(parameter.name, kind, described.direction, is_optional=is_optional, text=described.text)

    def read(self) -> list[Argument]:
        for index, argument in enumerate(self.arguments):
            if not argument.role:
                self.assign(index, argument)
        self.join_lengths()
        unclear = [argument for argument in self.arguments if not argument.role]
        if unclear:
            raise self.fail(unclear[0], "its role is unclear")
        return self.arguments

    def assign(self, index: int, argument: Argument) -> None:
        target = pointee(argument.type)
        depth = argument.type.count("*")
        if depth == 0:
            self.assign_value(index, argument)
        elif target in self.types.handles:
            self.assign_handle(argument, target, depth)
        elif target in self.types.structures:
            self.assign_structure(argument, target)
        elif argument.direction == "in":
            self.assign_memory(index, argument, target, depth)
        else:
            self.assign_result(index, argument, target, depth)

    def assign_value(self, index: int, argument: Argument) -> None:
        if argument.type == "callback" or argument.type in self.types.callbacks:
            self.assign_callback(index, argument)
            return
        argument.role = value_role(argument.type, argument.name, argument.text, self.types)
        argument.of = argument.type if argument.role == "enum" else ""

    def assign_callback(self, index: int, argument: Argument) -> None:
        if argument.name == "destroy":
            argument.role = "destroy"
            return
        argument.role, argument.of = "callback", argument.type if argument.type in self.types.callbacks else ""
        for companion in self.arguments[index + 1:index + 3]:
            if companion.name in ("user", "destroy"):
                companion.role = companion.name
                argument.companions[companion.name] = companion.name

    def assign_handle(self, argument: Argument, target: str, depth: int) -> None:
        argument.of = target
        if depth == 2 and self.entries(argument):
            argument.role = "handles"
        elif depth == 1 or argument.direction == "out":
            argument.role = "handle"

    def assign_structure(self, argument: Argument, target: str) -> None:
        argument.of = target
        if self.entries(argument):
            argument.role = "structures"
        elif target.endswith("_options") and argument.direction == "in":
            argument.role = "options"
        else:
            argument.role = "structure"

    def assign_memory(self, index: int, argument: Argument, target: str, depth: int) -> None:
        if target == "char":
            argument.role = "text" if depth == 1 else "texts" if self.entries(argument) else ""
        elif target in NUMBERS and self.entries(argument):
            argument.role = "numbers"
        elif target == "void" and argument.name == "handle":
            argument.role = "any_handle"
        elif target == "void":
            argument.role = "bytes"
            argument.length = self.next_named(index, "size")
        elif target.startswith("DL") or "volatile" in argument.type:  # memory that the library reads later, too
            argument.role = "pointer"

    def assign_result(self, index: int, argument: Argument, target: str, depth: int) -> None:
        capacity = self.next_named(index, "capacity")
        if capacity:
            argument.role = {"char": "text_out", "void": "bytes_out"}.get(target, "numbers_out")
            self.join_capacity(index, argument, capacity)
        elif depth == 2:
            argument.role = "pointer"
        else:
            argument.role = value_role(target, argument.name, argument.text, self.types)
            argument.of = target if argument.role == "enum" else ""

    def join_capacity(self, index: int, argument: Argument, capacity: str) -> None:
        self.by_name[capacity].role = "capacity"
        argument.companions["capacity"] = capacity
        for follower in self.arguments[index + 2:index + 3]:
            if follower.name in OUT_LENGTHS:
                follower.role = "out_length"
                argument.companions["out_length"] = follower.name

    def next_named(self, index: int, name: str) -> str:
        follower = self.arguments[index + 1].name if index + 1 < len(self.arguments) else ""
        return name if follower == name else ""

    def entries(self, argument: Argument) -> bool:
        """Reads the length of an array from its comment: "[count] names" or "[2 * pair_count] sizes"."""
        match = re.match(r"(?:optional; )?\[(?:(\d+) \*? ?)?(\w+)\]", argument.text)
        if match is None or match[2] not in self.lengths:
            return False
        argument.factor, argument.length = int(match[1] or 1), match[2]
        return True

    def join_lengths(self) -> None:
        for argument in self.arguments:
            if argument.length:
                length = self.by_name[argument.length]
                length.role = "length"
                length.of = ", ".join(filter(None, [length.of, argument.name]))


def read_arguments(function: Function, types: Types) -> list[Argument]:
    return Reader(function, types).read()
