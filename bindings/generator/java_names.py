"""The names of Java's classes, methods and parameters."""
from managed import ManagedCall
from words import camel

# java.lang.Module and java.util.function.Function would make a name ambiguous in a program that imports all of both
# packages. A block is what DJL calls a part of a network of any size.
CLASSES = {"Module": "Block", "Function": "AutogradFunction"}
WORDS = {"module": "block", "modules": "blocks", "Module": "Block", "Modules": "Blocks"}
# Final methods of java.lang.Object, and words of the language.
METHODS = {"wait": "await", "default": "byDefault", "default_context": "defaultContext"}


def java_class(name: str) -> str:
    return CLASSES.get(name, name)


def identifier(name: str) -> str:
    """The parameter, field or method of a C name: add_module is addBlock."""
    return camel("_".join(WORDS.get(word, word) for word in name.split("_")))


def method_name(call: ManagedCall) -> str:
    name = call.own_name()
    return METHODS.get(name) or identifier(name)
