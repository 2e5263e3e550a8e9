"""One function of the C API as a C++ function that SWIG wraps: its parameters, its body and its result.

The C++ function throws a StatusError if the call fails, and returns what the C function writes. Lengths, capacities and
options disappear: an array knows its length, and the fields of an options structure are parameters with defaults.
"""
import re
from dataclasses import dataclass, field

from description import Api, class_name
from mirrors import default_of, field_type, mirrored
from names import DEFAULTS, FUNCTIONS, PARAMETERS

ARRAYS = {"handles": "", "numbers": "Integers", "texts": "Texts"}
# Without a default of the C API these follow the others, since a language wants them there.
OPTIONAL_VALUE = {"handle": "nullptr", "text": "nullptr", "handles": "{0}()", "numbers": "Integers()",
                  "texts": "Texts()", "bytes": "Memory()"}


class Unbound(Exception):
    """The generator does not wrap the function; the text is the reason."""


@dataclass
class Parameter:
    type: str
    name: str
    default: str = ""
    text: str = ""
    is_optional: bool = False  # an absent object or text, which finish_parameters may leave without a default

    def declaration(self, with_default: bool) -> str:
        return f"{self.type} {self.name}" + (f" = {self.default}" if with_default and self.default else "")


@dataclass
class Call:
    function: dict
    owner: str = ""  # the class; empty for a function of the module
    name: str = ""
    kind: str = "function"  # or method, static, constructor
    parameters: list[Parameter] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    results: list[tuple[str, str, str]] = field(default_factory=list)  # C++ type, expression, role
    after: list[str] = field(default_factory=list)  # statements after the call has succeeded

    def result_type(self) -> str:
        if len(self.results) > 1:
            return "TensorList" if self.results[0][2] == "handle" else "Integers"
        return self.results[0][0] if self.results else "void"

    def is_owned(self) -> bool:
        """A scope has no reference to release: its end() is called."""
        return len(self.results) == 1 and self.results[0][2] == "handle" and self.results[0][0] != "Scope*"


class Builder:
    def __init__(self, api: Api, function: dict):
        self.api = api
        self.function = function
        self.call = Call(function)
        self.by_name = {argument["name"]: argument for argument in function["arguments"]}

    def build(self) -> Call:
        self.refuse_pointers()
        self.place()
        if self.function["result"] != "htone_status":
            cpp_type = "std::string" if self.function["result"] == "const char*" else self.function["result"]
            self.call.results.append((cpp_type, "returned", "returned"))
        for argument in self.function["arguments"]:
            getattr(self, "add_" + argument["role"])(argument)
        self.finish_parameters()
        return self.call

    def refuse_pointers(self) -> None:
        for argument in self.function["arguments"]:
            is_nameless = argument["role"] == "callback" and "of" not in argument
            if argument["role"] in ("structures", "pointer", "any_handle") or is_nameless:
                raise Unbound(f"{argument['name']} is a {argument['role']}")
            if argument["role"] == "structure" and argument["of"] not in mirrored(self.api):
                raise Unbound(f"{argument['name']} is a table of functions")

    def place(self) -> None:
        """The class and the name within it."""
        call, noun, verb = self.call, self.function["noun"], self.function["verb"]
        call.owner = class_name(noun) if noun else ""
        call.name = FUNCTIONS.get(self.function["name"]) or (verb if verb == "create" else verb.removeprefix("create_"))
        first = self.function["arguments"][0] if self.function["arguments"] else {}
        if noun and verb == "create":
            call.kind, call.name = "constructor", call.owner
        elif noun:
            is_mine = first.get("role") == "handle" and first["of"] == noun and first["direction"] != "out"
            call.kind = "method" if is_mine and not verb.startswith("create_") else "static"

    def parameter_name(self, argument: dict) -> str:
        return PARAMETERS.get(argument["name"], argument["name"])

    def default(self, argument: dict) -> str:
        key = (self.function["name"], argument["name"])
        if key in DEFAULTS or argument["name"] in DEFAULTS:
            return DEFAULTS.get(key, DEFAULTS.get(argument["name"], ""))
        value_of_none = OPTIONAL_VALUE.get(argument["role"], "") if argument["is_optional"] else ""
        return value_of_none.format(class_name(argument.get("of", "")) + "List")

    def take(self, argument: dict, cpp_type: str, passed: str) -> None:
        name = self.parameter_name(argument)
        self.call.arguments.append(passed.format(name))
        is_self = self.call.kind == "method" and argument is self.function["arguments"][0]
        if is_self:
            self.call.arguments[-1] = "$self"
        else:
            self.call.parameters.append(Parameter(cpp_type, name, self.default(argument), argument["text"],
                                                  argument["is_optional"]))

    def give(self, cpp_type: str, c_type: str, name: str, role: str, expression: str, passed: str = "&{0}") -> None:
        self.call.setup.append(f"{c_type} {name}{{}};")
        self.call.arguments.append(passed.format(name))
        self.call.results.append((cpp_type, expression, role))

    def add_handle(self, argument: dict) -> None:
        mine = class_name(argument["of"])
        if argument["type"].count("*") == 1:
            self.take(argument, f"{mine}*", "{0}")
        elif argument["is_optional"]:
            # Without the result the call waits until the work is done.
            self.call.parameters.append(Parameter("bool", "async_op", "false", "True returns before the work is done."))
            self.give(f"{mine}*", f"{argument['of']}*", argument["name"], "handle", argument["name"],
                      "async_op ? &{0} : nullptr")
        else:
            self.give(f"{mine}*", f"{argument['of']}*", argument["name"], "handle", argument["name"])

    def add_number(self, argument: dict) -> None:
        c_type = argument["type"].rstrip("*")
        if argument["direction"] == "in":
            self.take(argument, c_type, "{0}")
        else:
            self.give(c_type, c_type, argument["name"], "number", argument["name"])

    def add_boolean(self, argument: dict) -> None:
        if argument["direction"] == "in":
            self.take(argument, "bool", "{0}")
        else:
            self.give("bool", "int32_t", argument["name"], "boolean", f"{argument['name']} != 0")

    def add_enum(self, argument: dict) -> None:
        mine = class_name(argument["of"])
        if argument["direction"] == "in":
            self.take(argument, mine, f"{argument['of']}({{0}})")
        else:
            self.give(mine, argument["of"], argument["name"], "enum", f"{mine}({argument['name']})")

    def add_text(self, argument: dict) -> None:
        self.take(argument, "const char*", "{0}")

    def add_handles(self, argument: dict) -> None:
        mine = class_name(argument["of"]) + "List"
        if argument["direction"] == "in":
            self.take(argument, f"const {mine}&", "data_of({0})")
            return
        self.call.setup.append(f"{mine} {argument['name']}({self.entries(argument['length'])});")
        self.call.arguments.append(f"{argument['name']}.data()")
        self.call.results.append((mine, argument["name"], "handles"))

    def add_numbers(self, argument: dict) -> None:
        if argument["type"] != "const int32_t*":
            self.take(argument, "const Integers&", "data_of({0})")
            return
        name = self.parameter_name(argument)
        self.call.setup.append(f'const auto c_{name} = narrowed("{self.function["name"]}", "{name}", {name});')
        self.take(argument, "const Integers&", "data_of(c_{0})")

    def add_callback(self, argument: dict) -> None:
        """From its success on the library owns the function (swig/callbacks.h)."""
        replaces_inputs = ", true" if argument["of"].endswith("_pre_hook_fn") else ""
        self.take(argument, "Callback&", f"trampoline<{argument['of']}{replaces_inputs}>({{0}})")
        self.call.after.append(f"(void){self.parameter_name(argument)}.release();")

    def add_user(self, argument: dict) -> None:
        callback = next(other for other in self.function["arguments"]
                        if other.get("companions", {}).get("user") == argument["name"])
        self.call.arguments.append(f"{self.parameter_name(callback)}.get()")

    def add_destroy(self, argument: dict) -> None:
        self.call.arguments.append("drop_callable")

    def add_texts(self, argument: dict) -> None:
        self.call.setup.append(f"const auto pointers = pointers_of({argument['name']});")
        self.take(argument, "const Texts&", "pointers.data()")

    def arrays_of(self, length: str) -> list[dict]:
        names = self.by_name[length]["of"].split(", ")
        return [self.by_name[name] for name in names if self.by_name[name]["direction"] == "in"]

    def entries(self, length: str) -> str:
        arrays = self.arrays_of(length)
        if not arrays:
            return length
        first = next((array for array in arrays if not array["is_optional"]), arrays[0])
        factor = first.get("factor", 1)
        size = f"{self.parameter_name(first)}.size" + ("" if first["role"] == "bytes" else "()")
        return size if factor == 1 else f"{size} / {factor}"

    def add_length(self, argument: dict) -> None:
        arrays = self.arrays_of(argument["name"])
        if not arrays:
            self.take(argument, argument["type"], "{0}")
            return
        for other in arrays:
            if len(arrays) > 1 and f"{self.parameter_name(other)}.size()" != self.entries(argument["name"]):
                optional = str(other["is_optional"]).lower()
                self.call.setup.append(
                    f'same_length("{self.function["name"]}", "{other["name"]}", {other["name"]}.size(), '
                    f'{self.entries(argument["name"])}, {other.get("factor", 1)}, {optional});')
        self.call.arguments.append(f"{argument['type']}({self.entries(argument['name'])})")

    def add_text_out(self, argument: dict) -> None:
        self.read_out("std::string", "read_text", argument)

    def add_numbers_out(self, argument: dict) -> None:
        self.read_out("Integers", "read_integers", argument)

    def add_bytes_out(self, argument: dict) -> None:
        if "out_length" in argument["companions"]:
            self.read_out("Bytes", "read_bytes", argument)
        else:
            self.take(argument, "const WritableMemory&", "{0}.data")

    def read_out(self, cpp_type: str, reader: str, argument: dict) -> None:
        """The reader repeats the call with the length that the first call wrote."""
        length_type = self.by_name[argument["companions"]["capacity"]]["type"]
        self.call.arguments += ["out", "capacity", "out_length"]
        self.call.results.append((cpp_type, f"{reader}<{length_type}>", "read"))

    def add_bytes(self, argument: dict) -> None:
        self.take(argument, "const Memory&", "{0}.data")
        if not argument.get("length"):
            self.call.setup.append(f'require_elements("{self.function["name"]}", {argument["name"]}, dtype, shape);')

    def add_capacity(self, argument: dict) -> None:
        memory = next(other for other in self.function["arguments"]
                      if other.get("companions", {}).get("capacity") == argument["name"])
        if "out_length" not in memory["companions"]:
            self.call.arguments.append(f"{self.parameter_name(memory)}.size")

    def add_out_length(self, argument: dict) -> None:
        """read_out has passed it."""

    def add_structure(self, argument: dict) -> None:
        mine = class_name(argument["of"])
        if argument["direction"] == "in":
            self.call.setup.append(f"const {argument['of']} c_{argument['name']} = {argument['name']}.c();")
            self.take(argument, f"const {mine}&", "&c_{0}")
            return
        self.call.setup.append(f"{argument['of']} {argument['name']};")
        self.call.setup.append(self.api.filled(argument["initializer"], argument["name"]))
        self.call.arguments.append(f"&{argument['name']}")
        self.call.results.append((mine, f"{mine}({argument['name']})", "structure"))

    def add_options(self, argument: dict) -> None:
        """A setter of all settings takes the structure that its getter returns: a setting that is left out would fall
        back to its default otherwise.
        """
        if self.function["verb"].startswith("set_"):
            self.add_structure(argument)
            return
        self.call.setup.append(f"{argument['of']} options = HTONE_{argument['initializer'].upper()}_INIT;")
        self.call.arguments.append("&options")
        values = self.api.initializers[argument["initializer"]]["values"]
        for row in self.api.settings(argument["initializer"]):
            self.add_setting(argument, row, values[row["name"]])

    def add_setting(self, argument: dict, row: dict, initial: str) -> None:
        name = PARAMETERS.get((self.function["name"], f"options.{row['name']}"), row["name"])
        is_for_modules = "of modules" in row["text"] and "create" not in self.function["name"]
        if not name or is_for_modules:
            return
        if name in self.by_name:
            raise ValueError(f"{self.function['name']}: {name} is an argument and a setting; names.py must rename one")
        cpp_type = "const char*" if row["role"] == "text" else field_type(row)
        default = default_of(argument["of"], row, initial, self.api)
        # A setting that the call cannot do without has no default.
        is_needed = not argument["is_optional"] and row["name"] in re.findall(r"\w+", argument["text"])
        self.call.parameters.append(Parameter(cpp_type, name, "" if is_needed else default, row["text"],
                                              default == "nullptr"))
        cast = f"{row['of']}({name})" if row["role"] == "enum" else name
        self.call.setup.append(f"options.{row['name']} = {cast};")

    def finish_parameters(self) -> None:
        """A parameter without a default comes before all that have one; needed settings move forward."""
        parameters = self.call.parameters
        settings = {row["name"] for argument in self.function["arguments"] if argument["role"] == "options"
                    for row in self.api.structures[argument["of"]]["fields"]}
        needed = [item for item in parameters if not item.default]
        optional = [item for item in parameters if item.default]
        moved = [item for item in needed if item.name in settings]
        if moved:
            self.call.parameters = needed + optional
            return
        last = max((index for index, item in enumerate(parameters) if not item.default), default=-1)
        for item in parameters[:max(last, 0)]:
            item.default = ""


def build(api: Api, function: dict) -> Call:
    return Builder(api, function).build()
