"""The Java classes around the native methods: one per handle, and Halftone for the functions without an object."""
from pathlib import Path

from description import class_name
from java_docs import JavaDocs
from java_names import identifier, java_class, method_name
from java_types import HEAD, JAVA, callback_interface, callbacks_class, enumeration_class, structure_classes, type_of
from managed import Managed, ManagedCall
from managed_types import Shown, result, show
from words import pascal, result_name

OPS = "Halftone"
# Handwritten superclasses, with what the library does not know: arrays, scopes, iteration.
BASES = {"Tensor": "TensorData", "Scope": "ScopeEnd", "Batches": "BatchesOfFunction", "Store": "StoreOfObject",
         "Hook": "HookRemoval", "Block": "BlockParts", "Parameters": "ParameterSet", "ScopeStack": "ScopeStackUse"}
# Functions whose methods these superclasses have.
BY_HAND = {"htone_scope_end", "htone_scope_end_later", "htone_scope_stack_enter", "htone_scope_stack_leave"}
IMPORTS = "import java.lang.ref.Reference;\nimport java.util.Objects;\n\n"


OBJECTS = ("handle", "handles", "options", "structure")


def declaration(item: Shown, is_last: bool) -> str:
    return f"{item.type[:-2]}... {item.name}" if is_last and item.is_open() else f"{item.type} {item.name}"


def made(managed: Managed, call: ManagedCall) -> tuple[str, str]:
    """The type of the result, and the expression that makes it of `made`."""
    if not call.results:
        return "void", "made"
    return result(managed, call, JAVA) if len(call.results) == 1 else several(call)


def record_name(call: ManagedCall) -> str:
    return pascal(call.name)


def several(call: ManagedCall) -> tuple[str, str]:
    is_handle = call.results[0][2] == "handle"
    values = ", ".join(f"Tensor.own(made[{index}])" if is_handle else f"made[{index}]"
                       for index in range(len(call.results)))
    return record_name(call), f"new {record_name(call)}({values})"


def record(docs: JavaDocs, call: ManagedCall) -> str:
    kind = "Tensor" if call.results[0][2] == "handle" else "long"
    fields = ", ".join(f"{kind} {identifier(result_name(argument))}" for argument in call.results_of)
    return docs.record(call) + f"  public record {record_name(call)}({fields}) {{}}\n"


def fences(call: ManagedCall, shown: list[Shown]) -> str:
    """An object whose last use is the call must not be collected, and so released, before the call has ended."""
    names = (["this"] if call.kind == "method" else []) + [item.name for item in shown if item.role in OBJECTS]
    return "".join(f"    Reference.reachabilityFence({name});\n" for name in names)


def native_call(call: ManagedCall, shown: list[Shown]) -> str:
    passed = (["handle()"] if call.kind == "method" else []) + [item.passed for item in shown]
    return f"NativeJNI.{call.flat_name()}({', '.join(passed)})"


class Methods:
    """The Java text of one call: the method, and its overloads without the optional parameters."""

    def __init__(self, managed: Managed, docs: JavaDocs, call: ManagedCall):
        self.docs, self.call = docs, call
        self.shown = [show(managed, call, item, JAVA) for item in call.parameters]
        self.type, self.expression = made(managed, call)
        self.name = method_name(call)
        self.modifiers = "public " if call.kind == "method" else "public static "

    def parameters(self, items: list[Shown]) -> str:
        return ", ".join(declaration(item, item is items[-1]) for item in items)

    def text(self) -> str:
        if self.call.kind == "constructor":
            return self.constructor()
        if self.call.is_asynchronous():
            return self.both_ways()
        raw = native_call(self.call, self.shown)
        fence = fences(self.call, self.shown)
        if self.type == "void":
            lines = f"    {raw};\n{fence}"
        else:
            lines = f"    var made = {raw};\n{fence}    return {self.expression};\n"
        extra = record(self.docs, self.call) if len(self.call.results) > 1 else ""
        if self.call.is_scope():
            lines = "    NativeFrame.requireForScope();\n" + lines
        return extra + self.method(self.name, self.type, self.shown, lines) + self.overloads()

    def method(self, name: str, kind: str, items: list[Shown], lines: str) -> str:
        head = f"  {self.modifiers}{kind} {name}({self.parameters(items)}) {{\n"
        work = "the work, which the program waits for" if kind == "Work" and self.call.is_asynchronous() else ""
        documented = self.docs.method(self.call, {item.name for item in items}, kind != "void", work)
        return documented + head + lines + "  }\n\n"

    def both_ways(self) -> str:
        """The call that waits, and the call that returns the work."""
        visible = [item for item in self.shown if item.name != "asyncOp"]
        fence = fences(self.call, visible)

        def passed(way: str) -> str:
            return native_call(self.call, [Shown("boolean", "", way) if item.name == "asyncOp" else item
                                           for item in self.shown])
        return (self.method(self.name, "void", visible, f"    {passed('false')};\n{fence}")
                + self.method(self.name + "Async", "Work", visible,
                              f"    var made = {passed('true')};\n{fence}    return Work.own(made);\n"))

    def shorter(self) -> list[list[Shown]]:
        """The parameter lists that leave out optional ones: the last ones, or all but the options."""
        needed = len([item for item in self.shown if not item.default])
        lists = [self.shown[:count] for count in range(needed, len(self.shown)) if not self.shown[count].is_open()]
        if len(self.shown) - needed > 1 and self.shown[-1].type.endswith("Options"):
            lists.append(self.shown[:needed] + self.shown[-1:])
        return lists

    def full_arguments(self, given: list[Shown]) -> str:
        return ", ".join(item.name if item in given else item.default for item in self.shown)

    def overloads(self) -> str:
        keyword = "" if self.type == "void" else "return "
        return "".join(self.method(self.name, self.type, items,
                                   f"    {keyword}{self.name}({self.full_arguments(items)});\n")
                       for items in self.shorter())

    def constructor(self) -> str:
        owner, parameters = java_class(self.call.owner), self.parameters(self.shown)
        raw, fence = native_call(self.call, self.shown), fences(self.call, self.shown)
        names = ", ".join(item.name for item in self.shown)
        documented = {item.name for item in self.shown}
        text = (f"{self.docs.method(self.call, documented)}  public {owner}({parameters}) {{\n"
                f"    this(Owned.HANDLE, create({names}));\n  }}\n\n"
                f"  private static long create({parameters}) {{\n    long made = {raw};\n{fence}"
                f"    return made;\n  }}\n\n")
        for items in self.shorter():
            text += (f"{self.docs.method(self.call, {item.name for item in items})}"
                     f"  public {owner}({self.parameters(items)}) {{\n"
                     f"    this({self.full_arguments(items)});\n  }}\n\n")
        return text

    def as_method(self) -> str:
        """The operation as a method of its first argument."""
        text = ""
        for items in [self.shown, *self.shorter()]:
            if not items:
                continue
            rest = items[1:]
            head = f"  public {self.qualified_type()} {self.name}({self.parameters(rest)}) {{\n"
            keyword = "" if self.type == "void" else "return "
            names = ", ".join(["this", *(item.name for item in rest)])
            text += (self.docs.method(self.call, {item.name for item in rest}, self.type != "void") + head
                     + f"    {keyword}{OPS}.{self.name}({names});\n  }}\n\n")
        return text

    def qualified_type(self) -> str:
        return f"{OPS}.{self.type}" if len(self.call.results) > 1 else self.type


def handle_class(managed: Managed, docs: JavaDocs, name: str) -> str:
    mine = type_of(name)
    is_released = f"{name}_release" in managed.api.names
    release = f", NativeJNI::{class_name(name)}_release" if is_released else ""
    base = BASES.get(mine, "NativeObject")
    methods = "".join(Methods(managed, docs, call).text() for call in managed.calls_of(name)
                      if call.function["name"] not in BY_HAND)
    if mine == "Tensor":
        methods += "".join(Methods(managed, docs, call).as_method() for call in managed.operations())
    return (f"{HEAD}{IMPORTS}{docs.text(managed.api.handles[name]['text'])}"
            f"public final class {mine} extends {base} {{\n"
            f"  {mine}(Owned tag, long handle) {{\n    super(handle{release});\n  }}\n\n"
            f"  static {mine} own(long handle) {{\n"
            f"    return handle == 0 ? null : new {mine}(Owned.HANDLE, handle);\n  }}\n\n{methods}}}\n")


def operations_class(managed: Managed, docs: JavaDocs) -> str:
    methods = "".join(Methods(managed, docs, call).text() for call in managed.calls_of(""))
    return (f"{HEAD}{IMPORTS}"
            + docs.text("The functions of the library that belong to no object.")
            + f"public final class {OPS} extends Extras {{\n  private {OPS}() {{}}\n\n{methods}}}\n")


def classes(managed: Managed) -> dict[str, str]:
    """The text of each class by its name."""
    docs = JavaDocs(managed)
    found = {type_of(name): handle_class(managed, docs, name) for name in managed.classes()}
    found |= {type_of(name): enumeration_class(managed, docs, name) for name in managed.api.enumerations}
    found |= {kind.name(): callback_interface(docs, kind) for kind in managed.callbacks.values()}
    return found | structure_classes(managed, docs) | {
        OPS: operations_class(managed, docs), "Callbacks": callbacks_class(managed)}


def write(managed: Managed, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in classes(managed).items():
        (folder / f"{name}.java").write_text(text, encoding="utf-8")
