"""Every function and method of the Python package refuses wrong arguments in Python's words. Run by CTest.

    wrong_arguments_test.py API.JSON

Each generated function is called with the usual values of calls/fixture.py, of which one is replaced by a wrong one.
"""

import inspect
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER / "calls"), str(FOLDER.parents[1] / "bindings/generator")]
import halftone as ht  # noqa: E402: the folders above are those of this tree
from description import Api  # noqa: E402
from every_call import CALLBACKS, Program, Python  # noqa: E402
from fixture import OBJECTS  # noqa: E402
from halftone import _halftone  # noqa: E402
from interface import passed_type  # noqa: E402

WRONG = {"None": None, "str": "x\0", "object": object(), "list": [object()], "float": 2.5, "large": 1 << 70,
         "larger": 10**400, "function": print, "set": {"a"}, "bytes": b"x"}
# Values of a type that are right, which other names of WRONG are not.
RIGHT = {"double": {"float", "large"}, "Callback&": {"function"}, "CallbackOrNone&": {"function"},
         "const Memory&": {"bytes"}, "const Texts&": {"set"}}
# Values that the binding passes on, and that most functions of C refuse.
OF_C = {"int32_t": [-5], "int64_t": [-5], "double": [math.nan, -math.inf], "const Integers&": [[-7], [1] * 9],
        "const IntegersOrNone&": [[-7], [1] * 9], "const char*": ["no such thing"]}
# Words of C, C++ and SWIG.
OF_BINDINGS = ("of type '", "ht::", "Swig", "SWIG", "proxy", "htone_", "HTONE_")
FOREIGN = (*OF_BINDINGS, "in method", "argument 1", " *", "_halftone", "NULL")


class Calls(Program):
    """The usual arguments as Python's objects."""

    def __init__(self, api):
        super().__init__(api, Python())
        self.names = {"ht": ht, "device": ht.default_device(), "use": self.use, "made": self.made, "function": print}
        linear = "ht.Module.linear(device, 2, 2)"
        self.texts = {"htone_function": "ht.Function('double', function)", "htone_graph": "graph",
                      "htone_hook": f"{linear}.add_forward_hook(function)"}

    def use(self, owner, name, arguments):
        found = getattr(owner, name)
        return found(**arguments) if callable(found) else found

    def made(self, kind, settings):
        structure = kind()
        for name, value in settings.items():
            setattr(structure, name, value)
        return structure

    def value(self, function, argument, given):
        if argument["role"] == "callback":
            return "function"
        if argument["role"] == "handle" and argument["of"] in CALLBACKS:
            return self.texts[argument["of"]]
        return super().value(function, argument, given)

    def usual(self, call):
        """The function of the wrapper, its object if it is a method, and the arguments by name."""
        symbol = f"{call.owner}_{call.name}" if call.owner else call.name
        function = getattr(_halftone, f"new_{call.owner}" if call.kind == "constructor" else symbol)
        texts = {item.name: self.argument(call, item, {}) for item in call.parameters}
        given = {name: eval(text, self.names) for name, text in texts.items() if text is not None}
        return function, [self.object_of(call)] if call.kind == "method" else [], given

    def refused_by_c(self, call, item):
        """Values of a parameter that are right in Python."""
        kind = passed_type(item)
        if isinstance(getattr(ht, kind, None), type):
            return [99]  # no value of the enumeration
        if kind.endswith("*") and kind != "const char*":
            return [self.closed(eval(self.argument(call, item, {}) or "None", self.names))]
        return OF_C.get(kind, [])

    @staticmethod
    def closed(thing):
        if thing is not None and thing is not ht.default_device():
            thing.close()
        return thing

    def object_of(self, call):
        row, kind = call.function["arguments"][0], self.kind(call)
        if row["of"] == "htone_graph":
            return None
        return eval(self.value(call.function["name"], row, {row["name"]: f"{kind}_optimizer"} if kind else {}),
                    self.names)


class Messages(unittest.TestCase):
    api = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        cls.program = Calls(Api(Path(cls.api)))
        cls.calls = [(call, *cls.program.usual(call)) for call in cls.program.calls.values()]
        cls.count = 0

    def refused(self, name, argument, kinds, function, arguments, named):
        type(self).count += 1
        with self.subTest(function=name, argument=argument, given=type(named.get(argument)).__name__):
            with self.assertRaises(kinds) as raised:
                function(*arguments, **named)
            text = str(raised.exception)
            self.assertTrue(text.startswith(f"{name}: "), text)
            self.assertIn(argument, text)
            self.assertEqual([word for word in FOREIGN if word in text], [], text)

    @staticmethod
    def name(call):
        return call.owner if call.kind == "constructor" else call.name

    def test_name_the_function_and_the_argument_of_a_wrong_value(self):
        kinds = (TypeError, ValueError, OverflowError, BufferError)
        for call, function, owner, usual in self.calls:
            for item in call.parameters:
                kind = passed_type(item)
                right = RIGHT.get(kind, set()) | ({"None"} if "OrNone" in kind else set())
                for wrong in sorted(WRONG.keys() - right):
                    given = {**usual, item.name: WRONG[wrong]}
                    self.refused(self.name(call), item.name, kinds, function, owner, given)
        self.assertGreater(self.count, 10000)

    def test_of_c_have_the_words_of_python(self):
        count = 0
        for call, function, owner, usual in self.calls:
            for item in call.parameters:
                for value in self.program.refused_by_c(call, item):
                    try:
                        function(*owner, **{**usual, item.name: value})
                    except ht.HalftoneException as error:
                        count += 1
                        with self.subTest(function=self.name(call), argument=item.name, given=type(value).__name__):
                            self.assertTrue(str(error).startswith(f"{self.name(call)}: "), str(error))
                            self.assertEqual([word for word in FOREIGN if word in str(error)], [], str(error))
        self.assertGreater(count, 1000)

    def test_say_what_is_expected_and_what_was_given(self):
        linear, device = ht.Module.linear, ht.default_device()
        x = ht.tensor([1.0])
        for text, call in {
            "linear: bias must be a bool, got str 'x'": lambda: linear(device, 2, 2, bias="x"),
            "linear: bias must be a bool, got int 2": lambda: linear(device, 2, 2, bias=2),
            "linear: in_features must be an int, got float 2.0": lambda: linear(device, 2.0, 2),
            "linear: in_features must be an int of 64 bits, got int 9223372036854775808":
                lambda: linear(device, 1 << 63, 2),
            "cat: tensors[1] must be a Tensor, got None": lambda: ht.cat([x, None], 0),
            "zeros: shape[1] must be an int, got float 1.5": lambda: ht.Tensor.zeros(device, "f32", [2, 1.5]),
            "fill: value must be a float, got str 'one'": lambda: x.fill("one"),
            "OptimizerOptions: lr must be a float, got list": lambda: setattr(ht.OptimizerOptions(), "lr", []),
        }.items():
            with self.subTest(text), self.assertRaises((TypeError, OverflowError)) as raised:
                call()
            self.assertEqual(str(raised.exception), text)

    def test_name_what_does_not_fit_the_signature(self):
        for call, function, owner, usual in self.calls:
            name, known = self.name(call), [item.name for item in call.parameters]
            first = known[0] if known else "no arguments"
            self.refused(name, first, TypeError, function, [*owner, *[None] * (len(known) + 1)], {})
            self.refused(name, "unknown_name", TypeError, function, owner, {**usual, "unknown_name": 1})
            needed = [item.name for item in call.parameters if not item.default]
            if needed:
                left = {key: value for key, value in usual.items() if key != needed[0]}
                self.refused(name, f"{needed[0]} is missing", TypeError, function, owner, left)
            if owner and owner[0] is not None:
                self.refused(name, "self must be a", TypeError, function, [object()], usual)

    def test_of_code_by_hand_have_no_foreign_words(self):
        """The functions and methods that are written in Python are called with wrong arguments alone: those of the
        binding, and tensors and numbers that C refuses.
        """
        closed = ht.tensor([1.0])
        closed.close()
        values = [*WRONG.values(), -5, math.nan, closed, ht.ones(2, 3), ht.tensor([[True]])]
        places = [ht, ht.nn, *(value for value in vars(ht).values() if inspect.isclass(value))]
        functions = {id(value): value for place in places for name, value in list(vars(place).items())
                     if inspect.isfunction(value) and not name.startswith("_")}
        for function in functions.values():
            for arguments in [[value] * count for value in values for count in (1, 2, 3)]:
                try:
                    function(*arguments)
                except Exception as error:
                    with self.subTest(function.__qualname__, given=repr(arguments)[:60]):
                        self.assertEqual([word for word in OF_BINDINGS if word in str(error)], [], str(error))


if __name__ == "__main__":
    Messages.api = sys.argv.pop()
    unittest.main()
