"""Making tensors, dtypes, modes and files under PyTorch's names. Run by CTest."""

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from collections import OrderedDict, namedtuple

import halftone as ht
from halftone import nn

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)


class Creation(unittest.TestCase):
    def test_takes_sizes_as_arguments_or_as_a_sequence(self):
        for name in ("zeros", "ones", "empty", "rand", "randn"):
            make = getattr(ht, name)
            for sizes in ((2, 3), ([2, 3],), ((2, 3),), (np.array([2, 3]),), (np.int64(2), 3)):
                self.assertEqual((make(*sizes).shape, str(make(*sizes).dtype)), ((2, 3), "f32"))
            self.assertEqual((make().shape, make(()).shape, make(0).shape), ((), (), (0,)))
            made = make(2, dtype=ht.float16, device="cpu", requires_grad=True)
            self.assertEqual((made.dtype, made.requires_grad, made.is_leaf), (ht.float16, True, True))
        self.assertEqual(ht.ones(2).tolist() + ht.zeros(1).tolist(), [1.0, 1.0, 0.0])

    def test_gives_the_dtype_of_the_numbers(self):
        for made, expected in ((ht.full((2,), 1), "i64"), (ht.full([2], 1.0), "f32"), (ht.full(2, True), "bool"),
                               (ht.arange(5), "i64"), (ht.arange(0, 1, 0.25), "f32"), (ht.arange(5.0), "f32"),
                               (ht.arange(3, dtype="i32"), "i32"), (ht.eye(2), "f32"), (ht.linspace(0, 1, 5), "f32"),
                               (ht.randint(10, (2,)), "i64"), (ht.randperm(4), "i64"), (ht.tensor([1, 2.5]), "f32"),
                               (ht.full((), 2.0, dtype="i64"), "i64")):
            self.assertEqual(str(made.dtype), expected)
        self.assertEqual(ht.arange(1, 7, 2).tolist() + ht.arange(0, 1, 0.25).tolist(), [1, 3, 5, 0, 0.25, 0.5, 0.75])
        self.assertEqual((ht.linspace(0, 1, 3).tolist(), ht.eye(2, 3).tolist()), ([0, 0.5, 1], [[1, 0, 0], [0, 1, 0]]))
        self.assertEqual(ht.full((2,), 2**62 + 1).tolist(), [2**62 + 1] * 2)

    def test_follows_another_tensor(self):
        x = ht.ones(2, 3, dtype="bf16")
        for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
            made = getattr(ht, name)(x)
            self.assertEqual((made.shape, made.dtype), (x.shape, x.dtype))
            self.assertEqual(getattr(ht, name)(x, dtype="f32").dtype, ht.float32)
        for name in ("new_zeros", "new_ones", "new_empty"):
            self.assertEqual((getattr(x, name)(4).shape, getattr(x, name)([4]).dtype), ((4,), x.dtype))
        self.assertEqual((ht.full_like(x, 2)[0].tolist(), x.new_full((1,), 3).tolist()), ([2.0] * 3, [3.0]))
        self.assertEqual((x.new_tensor([1, 2]).dtype, ht.randint_like(x, 3).dtype), (x.dtype, x.dtype))

    def test_of_data_takes_lists_tensors_and_arrays_in_each_other(self):
        x = ht.tensor([1.0, 2.0])
        self.assertEqual(ht.tensor([x, [3, 4]]).tolist(), [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(ht.tensor(range(3)).tolist() + ht.tensor([np.float32(0.5), np.int64(2)]).tolist(),
                         [0, 1, 2, 0.5, 2])
        self.assertEqual(ht.tensor([np.arange(2), np.arange(2)]).tolist(), [[0, 1], [0, 1]])
        copied = ht.tensor(x, dtype="f64")
        x.zero_()
        self.assertEqual((copied.tolist(), copied.dtype), ([1.0, 2.0], ht.float64))
        self.assertEqual(ht.tensor([0.1], dtype="f64").item(), 0.1)
        self.assertTrue(ht.tensor([1.0], requires_grad=True).requires_grad)
        for wrong, error, text in (([1, "a"], TypeError, "tensor: data must be numbers, .* got str 'a'"),
                                   ([1, None], TypeError, "got None"), ({}, TypeError, r"got dict"),
                                   ([2**63], OverflowError, "an int that 64 bits cannot hold"),
                                   ([[1], [1, 2]], ValueError, "a list of 2 beside one of 1")):
            with self.assertRaisesRegex(error, text):
                ht.tensor(wrong)

    def test_shares_memory_where_that_is_possible(self):
        x, source = ht.ones(2), np.ones(2, np.float32)
        self.assertIs(ht.as_tensor(x), x)
        made = ht.as_tensor(source)
        source[0] = 5
        self.assertEqual(made.tolist(), [5.0, 1.0])
        self.assertEqual(ht.as_tensor(np.arange(3)[::-1]).tolist(), [2, 1, 0])
        self.assertEqual((ht.as_tensor([1, 2]).tolist(), ht.as_tensor(source, "f64").dtype), ([1, 2], ht.float64))

    def test_of_random_numbers_is_repeated_by_a_seed(self):
        draws = []
        for _ in range(2):
            ht.manual_seed(7)
            draws.append([ht.rand(3).tolist(), ht.randn(3).tolist(), ht.randint(100, (3,)).tolist(),
                          ht.randperm(5).tolist()])
        ht.manual_seed(8)
        self.assertEqual(draws[0], draws[1])
        self.assertNotEqual(ht.rand(3).tolist(), draws[0][0])
        drawn = ht.randint(-2, 3, (10000,)).numpy()
        self.assertEqual(sorted(set(drawn.tolist())), [-2, -1, 0, 1, 2])
        self.assertTrue((abs(np.bincount(drawn + 2) - 2000) < 200).all())
        self.assertRaisesRegex(ValueError, "randint: high must be above low", ht.randint, 3, 3, (1,))
        x = ht.empty(10000)
        self.assertLess(abs(x.normal_(3, 2).mean().item() - 3), 0.1)
        self.assertLess(abs(x.uniform_(-1, 1).std().item() - 1 / 3**0.5), 0.02)
        self.assertLess(abs(x.bernoulli_(0.25).mean().item() - 0.25), 0.03)


class Dtypes(unittest.TestCase):
    def test_have_the_names_of_pytorch_and_numpy(self):
        for dtype, names in ((ht.float32, ("float32", "f32", np.float32, np.dtype("f4"), ht.float)),
                             (ht.float64, ("float64", "double", np.float64, float, ht.double)),
                             (ht.bfloat16, ("bfloat16", "bf16")), (ht.int64, ("int64", "long", int, np.int64, ht.long)),
                             (ht.int32, ("int32", ht.int, np.int32)), (ht.bool, ("bool", bool, np.bool_))):
            for name in names:
                self.assertEqual(ht.zeros(1, dtype=name).dtype, dtype)
        self.assertEqual(ht.cast(ht.ones(1), "float16").dtype, ht.half)
        for wrong, error, text in (("f17", ValueError, "'f17' is no Dtype"),
                                   ([], TypeError, "zeros: dtype must be a dtype"),
                                   (complex, TypeError, "zeros: dtype must be a dtype")):
            with self.assertRaisesRegex(error, text):
                ht.zeros(1, dtype=wrong)

    def test_have_a_default_that_can_be_chosen(self):
        try:
            ht.set_default_dtype(ht.float64)
            self.assertEqual([str(made.dtype) for made in (ht.zeros(1), ht.tensor([0.5]), ht.tensor([1]) * 0.5,
                                                           ht.arange(2))],
                             ["f64", "f64", "f64", "i64"])
            self.assertEqual(ht.tensor([0.1]).item(), 0.1)
        finally:
            ht.set_default_dtype("f32")
        self.assertEqual(ht.get_default_dtype(), ht.float32)
        self.assertRaisesRegex(ValueError, "d must be f64, f32, f16 or bf16, got i64", ht.set_default_dtype, "i64")

    def test_have_limits(self):
        for mine, of_numpy in ((ht.float16, np.float16), (ht.float32, np.float32), (ht.float64, np.float64)):
            found, expected = ht.finfo(mine), np.finfo(of_numpy)
            self.assertEqual((found.bits, found.eps, found.max, found.min, found.tiny),
                             (expected.bits, expected.eps, expected.max, expected.min, expected.tiny))
        for mine, of_numpy in ((ht.int8, np.int8), (ht.uint8, np.uint8), (ht.int64, np.int64)):
            self.assertEqual((ht.iinfo(mine).min, ht.iinfo(mine).max), (np.iinfo(of_numpy).min, np.iinfo(of_numpy).max))
        for name in ("bf16", "f8e4m3", "f8e5m2"):
            limits = ht.finfo(name)
            largest = ht.tensor([limits.max, limits.tiny, 1 + limits.eps]).to(name).to("f32")
            self.assertEqual(largest.tolist(), [limits.max, limits.tiny, 1 + limits.eps])
        self.assertRaisesRegex(TypeError, "finfo: dtype must be a float dtype", ht.finfo, "i64")

    def test_do_not_replace_the_types_of_python(self):
        names = {}
        exec("from halftone import *", names)
        self.assertEqual([names.get(name) for name in ("int", "float", "bool")], [None] * 3)
        self.assertIs(names["float32"], ht.float32)


class Devices(unittest.TestCase):
    def test_are_given_by_name(self):
        for make in (lambda device: ht.zeros(1, device=device), lambda device: ht.tensor([1.0], device=device),
                     lambda device: ht.from_numpy(np.ones(1)).to(device),
                     lambda device: ht.ones_like(ht.ones(1), device=device)):
            self.assertEqual(make("cpu").device.name, "cpu")
        self.assertRaisesRegex(TypeError, "zeros: device must be a Device or a name .* got int 3", ht.zeros, 1,
                               device=3)

    def test_have_a_default_that_can_be_chosen(self):
        try:
            ht.set_default_device("meta")
            self.assertEqual([made.device.name for made in (ht.zeros(1), nn.Linear(1, 1).parameter(0).tensor)],
                             ["meta"] * 2)
        finally:
            ht.set_default_device("cpu")
        self.assertEqual(ht.zeros(1).device.name, "cpu")


class Modes(unittest.TestCase):
    def test_say_whether_operations_are_recorded(self):
        self.assertTrue(ht.is_grad_enabled())
        with ht.no_grad():
            self.assertFalse(ht.is_grad_enabled())
            with ht.enable_grad():
                self.assertTrue(ht.is_grad_enabled())
                with ht.no_grad():
                    self.assertFalse(ht.is_grad_enabled())
                self.assertTrue(ht.is_grad_enabled())
            self.assertFalse(ht.is_grad_enabled())
        with ht.enable_grad(), ht.inference_mode(False):
            self.assertTrue(ht.is_grad_enabled())
        with ht.inference_mode():
            self.assertFalse(ht.is_grad_enabled())

    def test_are_switched_for_a_block_or_from_now_on(self):
        for mode in (False, True):
            with ht.set_grad_enabled(mode):
                self.assertEqual(ht.is_grad_enabled(), mode)
            self.assertTrue(ht.is_grad_enabled())
        ht.set_grad_enabled(False)
        self.assertFalse(ht.is_grad_enabled())
        with ht.set_grad_enabled(True):
            self.assertTrue(ht.is_grad_enabled())
        self.assertFalse(ht.is_grad_enabled())
        ht.set_grad_enabled(True)
        self.assertTrue(ht.is_grad_enabled())

    def test_a_switch_inside_of_a_block_ends_with_it(self):
        with ht.no_grad():
            ht.set_grad_enabled(True)
            self.assertTrue(ht.is_grad_enabled())
            ht.set_grad_enabled(False)
            ht.set_grad_enabled(True)
        self.assertTrue(ht.is_grad_enabled())
        ht.set_grad_enabled(False)
        with ht.enable_grad():
            self.assertTrue(ht.is_grad_enabled())
            ht.set_grad_enabled(False)
        self.assertFalse(ht.is_grad_enabled())
        ht.set_grad_enabled(True)

    def test_recording_inside_of_no_grad_keeps_autocast(self):
        a = ht.ones(2, 2)
        with ht.autocast("bf16"), ht.no_grad(), ht.enable_grad():
            self.assertEqual(a.matmul(a).dtype, ht.bfloat16)
        with ht.no_grad(), ht.autocast("bf16"), ht.enable_grad(), ht.autocast("bf16", enabled=False):
            self.assertEqual(a.matmul(a).dtype, ht.float32)
        self.assertTrue(ht.is_grad_enabled())

    def test_are_decorators(self):
        with ht.no_grad():
            self.assertTrue(ht.enable_grad()(ht.is_grad_enabled)())
        for mode in (ht.no_grad, ht.inference_mode, lambda: ht.set_grad_enabled(False)):
            decorated = mode()(ht.is_grad_enabled)
            if mode not in (ht.no_grad, ht.inference_mode):
                ht.set_grad_enabled(True)
            self.assertEqual([decorated(), decorated(), ht.is_grad_enabled()], [False, False, True])

    def test_set_the_threads_before_the_context_exists(self):
        program = ("import halftone as ht; ht.set_num_threads(3); ht.set_num_threads(3); print(ht.get_num_threads())\n"
                   "try: ht.set_num_threads(2)\nexcept RuntimeError as error: print(error)")
        printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(printed, "^3\nset_num_threads: the default context has 3 threads")

    def test_round_products_to_tf32_where_asked(self):
        x = ht.tensor([[1 + 2**-12]])
        for precision, product in (("high", 1), ("highest", (x[0, 0] * x[0, 0]).item())):
            ht.set_float32_matmul_precision(precision)
            self.assertEqual([ht.get_float32_matmul_precision(), x.matmul(x).item()], [precision, product])
        with self.assertRaisesRegex(ValueError, "one of highest, high, medium, got 'low'"):
            ht.set_float32_matmul_precision("low")


Pair = namedtuple("Pair", "first second")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state.safetensors")

    def plain(self, value):
        if isinstance(value, ht.Tensor):
            return str(value.dtype), value.to("f64").tolist()
        if isinstance(value, dict):
            return {key: self.plain(item) for key, item in value.items()}
        return type(value)(map(self.plain, value)) if isinstance(value, (list, tuple)) else value

    def test_keep_nested_objects(self):
        objects = {"weights": [ht.ones(2, dtype="bf16"), ht.arange(3)], "step": 7, 3: (None, True, 0.1, "text", 2**70),
                   "empty": {}, "float": [float("inf")], "a.b": ht.zeros(0, 3), "a": {"b": ht.tensor(True)}}
        for value in (objects, ht.ones(2, 2), [], "text", OrderedDict(a=ht.ones(1))):
            ht.save(value, self.path)
            found = ht.load(self.path)
            self.assertEqual(self.plain(found), self.plain(dict(value) if isinstance(value, dict) else value))
            stream = io.BytesIO()
            ht.save(value, stream)
            stream.seek(0)
            self.assertEqual(self.plain(ht.load(stream)), self.plain(found))

    def test_keep_which_tensors_are_one_and_require_a_gradient(self):
        x = ht.ones(2, requires_grad=True)
        ht.save({"x": x, "same": [x], "result": x * 2}, self.path)
        found = ht.load(self.path, map_location="cpu", weights_only=True)
        self.assertIs(found["x"], found["same"][0])
        self.assertTrue(found["x"].requires_grad and found["result"].requires_grad and found["result"].is_leaf)

    def test_of_a_state_dict_are_read_by_other_programs(self):
        model = nn.Linear(2, 1)
        ht.save(model.state_dict(), self.path)
        with open(self.path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        self.assertEqual(header["weight"]["shape"], [1, 2])
        self.assertEqual(ht.load(self.path)["weight"].tolist(), model.parameter(0).tensor.tolist())
        other = nn.Linear(2, 1)
        other.load_file(self.path)
        self.assertEqual(other.parameter(0).tensor.tolist(), model.parameter(0).tensor.tolist())

    def test_of_other_programs_give_a_dict(self):
        state = ht.StateDict()
        state.add("x", ht.ones(2))
        ht.safetensors_save(ht.Context.default_context(), self.path, state)
        self.assertEqual(self.plain(ht.load(self.path)), {"x": ("f32", [1.0, 1.0])})

    def test_refuse_other_objects(self):
        for value, text in (({"a": [set()]}, r"save: obj\['a'\]\['0'\] must be a Tensor, a Module, a number, .* got set"),
                            (ht.float32, "save: obj must be"),
                            ({(1, 2): 3}, r"save: obj has a key that is no str or number, got tuple")):
            with self.assertRaisesRegex(TypeError, text):
                ht.save(value, self.path)
        self.assertFalse(os.path.exists(self.path))
        with open(self.path, "wb") as file:
            file.write(b"no safetensors")
        self.assertRaises(ht.HalftoneException, ht.load, self.path)
        self.assertRaisesRegex(TypeError, "load: f must be a path or a file, got int 3", ht.load, 3)


if __name__ == "__main__":
    unittest.main()
