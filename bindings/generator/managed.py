"""The calls of Java and C#: plain C++ functions of numbers, handles and bytes, around which the classes of the language
are written (java_classes.py, csharp_classes.py).

An options structure crosses as packed bytes (swig/packed.h), an enumeration as its number. Each call keeps
the arguments of the C function from which its parameters and results come.
"""
from dataclasses import dataclass, field

from callback_types import callback_types
from calls import Builder, Call, Parameter, Unbound
from description import Api, class_name
from mirrors import mirrored

# The C functions that handwritten code calls, and the names that reach them; the same in both languages but for case.
BY_HAND = {
    "htone_debug_live_handles": "{ops}.live_handles",
    "htone_keep": "{ops}.keep",
    "htone_tensor_from_buffer": "Tensor.wrap",
    "htone_tensor_read": "Tensor.read",
    "htone_tensor_data": "Tensor.data_address",
    "htone_error_last": "HalftoneException",
    "htone_error_set": "CallbackCall",
    "htone_batches_create_callback": "Batches.from_function",
    "htone_store_create_callback": "Store.from_object",
}
# A language's word for a scope does not need `_begin`.
SCOPES = {"htone_handles_begin": "scope"}
EMPTY_ARRAYS = ("Integers()", "Texts()", "List()")


@dataclass
class ManagedCall(Call):
    sources: dict[str, dict] = field(default_factory=dict)  # the C argument of a parameter
    results_of: list[dict] = field(default_factory=list)  # the C argument of each result

    def flat_name(self) -> str:
        name = "create" if self.kind == "constructor" else self.name
        return f"{self.owner or 'Ops'}_{name}"

    def is_asynchronous(self) -> bool:
        return any(item.name == "async_op" for item in self.parameters)

    def is_scope(self) -> bool:
        return self.result_type() == "Scope*"

    def own_name(self) -> str:
        """With the words of the C name; the language sets the case. Where the second operand is a number instead of a
        tensor, the name is the same: add_scalar is an overload of add.
        """
        if self.is_scope():
            return SCOPES.get(self.function["name"], self.name.removesuffix("_begin"))
        return self.name.removesuffix("_scalar")


class ManagedBuilder(Builder):
    def __init__(self, api: Api, function: dict):
        super().__init__(api, function)
        self.call = ManagedCall(function)

    def build(self) -> ManagedCall:
        self.refuse_pointers()
        self.place()
        if self.function["result"] != "htone_status":
            cpp_type = "std::string" if self.function["result"] == "const char*" else self.function["result"]
            self.call.results.append((cpp_type, "returned", "returned"))
            self.call.results_of.append({})
        for argument in self.function["arguments"]:
            self.add(argument)
        self.call.arguments = ["self" if passed == "$self" else passed for passed in self.call.arguments]
        self.finish_parameters()
        return self.call

    def add(self, argument: dict) -> None:
        parameters, results = len(self.call.parameters), len(self.call.results)
        getattr(self, "add_" + argument["role"])(argument)
        for item in self.call.parameters[parameters:]:
            self.call.sources[item.name] = argument
        if len(self.call.results) > results:
            self.call.results_of.append(argument)

    def add_handle(self, argument: dict) -> None:
        if self.function["name"] != "htone_device_create" or argument["direction"] == "out":
            super().add_handle(argument)
            return
        # Without a context a device belongs to the default one.
        self.call.setup.append("const ContextOrDefault owner(context);")
        self.call.arguments.append("owner.get()")
        self.call.parameters.append(Parameter("Context*", "context", "nullptr", argument["text"]))

    def finish_parameters(self) -> None:
        if self.function["name"] == "htone_device_create":
            self.call.parameters.reverse()
        super().finish_parameters()

    def add_enum(self, argument: dict) -> None:
        if argument["direction"] == "in":
            self.take(argument, "int32_t", f"{argument['of']}({{0}})")
        else:
            self.give("int32_t", argument["of"], argument["name"], "enum", f"int32_t({argument['name']})")

    def add_structure(self, argument: dict) -> None:
        if argument["direction"] == "in":
            self.take_packed(argument, "&c_{0}", "")
            return
        super().add_structure(argument)
        self.call.results[-1] = ("Bytes", f"pack({class_name(argument['of'])}({argument['name']}))", "structure")

    def add_options(self, argument: dict) -> None:
        if self.function["verb"].startswith("set_"):
            self.add_structure(argument)
        elif "kind" in argument:
            self.take_packed(argument, "&c_{0}", "Packed()")
            self.call.setup.append(f"if (options.is_absent()) {self.api.filled(argument['initializer'], 'c_options')}")
        else:
            self.take_packed(argument, "{0}.is_absent() ? nullptr : &c_{0}",
                             "Packed()" if argument["is_optional"] else "")

    def take_packed(self, argument: dict, passed: str, default: str) -> None:
        """The mirror owns the text to which the C structure points."""
        name = self.parameter_name(argument)
        self.call.setup.append(f"const auto mirror_{name} = unpack<{class_name(argument['of'])}>({name});")
        self.call.setup.append(f"{argument['of']} c_{name} = mirror_{name}.c();")
        self.call.arguments.append(passed.format(name))
        self.call.parameters.append(Parameter("const Packed&", name, default, argument["text"]))


def options_class(api: Api, argument: dict) -> str:
    """The class of a structure's defaults: each kind of optimizer has its own."""
    initializer = argument.get("initializer", argument["of"].removeprefix("htone_"))
    return class_name("htone_" + initializer)


class Managed:
    """Every function of the C API, as Java and C# reach it."""

    def __init__(self, api: Api):
        self.api = api
        self.callbacks = callback_types(api)
        self.calls: list[ManagedCall] = []
        self.reached: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        for function in api.functions:
            self.add(function)

    def add(self, function: dict) -> None:
        name = function["name"]
        if name in BY_HAND:
            self.reached[name] = BY_HAND[name]
        elif name.endswith("_release"):
            self.reached[name] = class_name(name.removesuffix("_release")) + ".close"
        elif name.endswith("_retain"):
            self.left_out[name] = "an object owns exactly one reference"
        elif name.endswith("_init") and name.removesuffix("_init") in mirrored(self.api):
            self.reached[name] = class_name(name.removesuffix("_init"))
        else:
            self.wrap(function)

    def wrap(self, function: dict) -> None:
        try:
            call = ManagedBuilder(self.api, function).build()
        except Unbound as reason:
            self.left_out[function["name"]] = str(reason)
            return
        self.calls.append(call)
        self.reached[function["name"]] = f"{call.owner or '{ops}'}.{call.own_name()}"

    def classes(self) -> list[str]:
        """The handles, which have a class each, by their C names."""
        return list(self.api.handles)

    def calls_of(self, name: str) -> list[ManagedCall]:
        return [call for call in self.calls if call.owner == (class_name(name) if name else "")]

    def operations(self) -> list[ManagedCall]:
        """Functions that are methods of a tensor, too, unless a method has the name."""
        methods = {call.name for call in self.calls_of("htone_tensor")}
        return [call for call in self.calls_of("") if call.name not in methods and call.parameters
                and call.parameters[0].type == "Tensor*" and call.sources[call.parameters[0].name]["role"] == "handle"]
