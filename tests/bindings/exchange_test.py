"""Data in and out of the Python binding's tensors: lists, buffers, numpy and DLPack. Run by CTest.

The variable DEFERRED_PLUGIN leads to a plugin with a device that runs its work later.
"""

import gc
import os
import sys
import unittest
import weakref
from array import array
from types import SimpleNamespace

import halftone as ht
from halftone import nn

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)

SHARED_DTYPES = ["f64", "f32", "f16", "i64", "i32", "i16", "i8", "u8", "bool"]
NUMPY_NAMES = {"f": "float", "i": "int", "u": "uint"}


def numpy_dtype(name):
    return np.dtype("bool" if name == "bool" else f"{NUMPY_NAMES[name[0]]}{name[1:]}")


class Lists(unittest.TestCase):
    def test_become_tensors_and_back(self):
        for data, dtype in (([[1, 2], [3, 4]], "i64"), ([1.5, 2], "f32"), ([True, False], "bool"), (3.5, "f32"),
                            ([], "f32"), ([[], []], "f32"), (7, "i64")):
            made = ht.tensor(data)
            self.assertEqual((made.tolist(), str(made.dtype)), (data, dtype))

    def test_must_have_one_shape(self):
        for wrong in ([[1, 2], [3]], [[1], 2], [1, [2]]):
            with self.assertRaises((ValueError, TypeError)):
                ht.tensor(wrong)

    def test_of_a_dtype_without_a_letter_have_its_values(self):
        self.assertEqual(ht.tensor([0.5, 2.0], dtype="bf16").tolist(), [0.5, 2.0])
        self.assertEqual(ht.tensor([0.5, 2.0], dtype="f16").tolist(), [0.5, 2.0])

    def test_of_double_precision_keep_their_digits(self):
        for dtype in ("f64", ht.Dtype.F64):
            self.assertEqual(ht.tensor([0.1, 1 / 3], dtype=dtype).tolist(), [0.1, 1 / 3])

    def test_values_are_shown(self):
        self.assertEqual(repr(ht.tensor([[1, 2], [3, 4]])), "tensor([[1, 2],\n        [3, 4]], i64)")


class Buffers(unittest.TestCase):
    def test_are_copied(self):
        data = array("f", [1, 2, 3])
        made = ht.tensor(data)
        data[0] = 9
        self.assertEqual(made.tolist(), [1.0, 2.0, 3.0])
        self.assertEqual(ht.tensor(memoryview(array("i", range(6)))[::2]).tolist(), [0, 2, 4])

    def test_are_shared_and_locked_while_the_tensor_lives(self):
        data = array("f", [1, 2, 3])
        made = ht.from_buffer(data)
        data[0] = 9
        self.assertEqual(made.tolist(), [9.0, 2.0, 3.0])
        view = made[1:]
        del made
        with self.assertRaises(BufferError):
            data.append(4)
        del view
        data.append(4)

    def test_that_cannot_be_shared_are_refused_with_the_way_out(self):
        fixed, repeated = np.zeros(4), np.broadcast_to(np.float32(1), (2, 3))
        fixed.flags.writeable = False
        odd = np.zeros(4, dtype=[("a", "f4"), ("b", "i1")])["a"]
        for wrong, reason in ((bytes(4), "is read-only"), (fixed, "is read-only"), (repeated, "is read-only"),
                              (np.zeros(4)[::-1], "has a negative stride"),
                              (odd, "has a stride that is not a number of elements")):
            with self.assertRaisesRegex(BufferError, reason + r".*halftone.tensor\(\) copies it"):
                ht.from_buffer(wrong)
            self.assertEqual(ht.tensor(wrong).tolist(), list(wrong) if isinstance(wrong, bytes) else wrong.tolist())
        for dtype, wider in (("u2", "i32"), ("u4", "i64"), ("u8", "i64")):
            with self.assertRaisesRegex(TypeError, "have no dtype; halftone.tensor.. copies them as " + wider):
                ht.from_buffer(np.zeros(2, dtype=dtype))
        with self.assertRaisesRegex(TypeError, "another byte order; halftone.tensor.. copies them"):
            ht.from_buffer(np.zeros(2, dtype=">f4"))
        fields = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
        for wrong, advice in ((np.zeros(2, dtype=complex), "format 'Zd' have no dtype; convert them .*astype"),
                              (np.array([1, None]), "format 'O' have no dtype; convert them .*astype"),
                              (fields, "take one field of them"),
                              (np.zeros(2, dtype="M8[D]"), r"elements of datetime64\[D\] have no format; convert"),
                              ({}, r"data must be numbers, .* got dict"), (None, "data must be numbers, .* got None")):
            for function in (ht.tensor, ht.from_buffer):
                with self.assertRaisesRegex(TypeError, advice):
                    function(wrong)
        with self.assertRaisesRegex(TypeError, r"a Tensor has no buffer; halftone.from_dlpack\(\) may"):
            ht.from_buffer(ht.tensor(1.0))
        self.assertEqual(ht.from_buffer(fields["b"]).tolist(), [0, 0])

    def test_of_dtypes_that_numpy_lacks_are_copied(self):
        class Array:
            """An array of the package ml_dtypes, which has no buffer."""

            def __init__(self, name, values, dtype):
                self.dtype, self.shape, self.values = SimpleNamespace(name=name), (1, len(values)), values
                self.bits = dtype

            def tobytes(self):
                return np.array(self.values, self.bits).tobytes()

        for name, values, bits, dtype in (("bfloat16", [0x3F80, 0xC000], "u2", "bf16"),
                                          ("float8_e4m3fn", [0x38, 0xC0], "u1", "f8e4m3"),
                                          ("float8_e5m2", [0x3C, 0xC0], "u1", "f8e5m2")):
            made = ht.tensor(Array(name, values, bits))
            self.assertEqual((str(made.dtype), made.to("f32").tolist()), (dtype, [[1.0, -2.0]]))
            with self.assertRaisesRegex(TypeError, name + r" have no format; halftone.tensor\(\) copies them"):
                ht.from_buffer(Array(name, values, bits))

    def test_of_unsigned_numbers_and_of_the_other_byte_order_are_copied_exactly(self):
        for dtype, wider, largest in (("u2", "i32", 2**16 - 1), ("u4", "i64", 2**32 - 1), ("u8", "i64", 2**63 - 1)):
            for order in "<>":
                made = ht.tensor(np.array([[0, 1, 5], [largest, 258, 2]], dtype=order + dtype)[:, ::-1])
                self.assertEqual((str(made.dtype), made.tolist()), (wider, [[5, 1, 0], [2, 258, largest]]))
        for dtype, name in ((">f4", "f32"), (">f8", "f64"), (">f2", "f16"), (">i8", "i64"), (">i2", "i16")):
            made = ht.tensor(np.array([1, -2, 300], dtype=dtype))
            self.assertEqual((str(made.dtype), made.tolist()), (name, [1, -2, 300]))
        with self.assertRaisesRegex(OverflowError, "is above the largest of i64"):
            ht.tensor(np.array([2**63], dtype="u8"))

    def test_take_the_elements_of_a_tensor(self):
        values = array("d", [0, 0])
        ht.tensor([1.5, 2.5], dtype="bf16").read(values)
        self.assertEqual(values.tolist(), [1.5, 2.5])
        bits = array("H", [0, 0])
        with self.assertRaisesRegex(TypeError, "read: elements of format 'H' have no dtype; name one"):
            ht.tensor([1.5, 2.5]).read(bits)
        ht.tensor([1.5, 2.5]).read(bits, "bf16")
        self.assertEqual(bits.tolist(), [0x3FC0, 0x4020])


class Numpy(unittest.TestCase):
    def test_shares_every_dtype_and_stride_in_both_directions(self):
        for name in SHARED_DTYPES:
            source = np.arange(12).reshape(3, 4).astype(numpy_dtype(name))[:, ::2]
            made = ht.from_numpy(source)
            self.assertEqual((str(made.dtype), made.shape, made.tolist()), (name, (3, 2), source.tolist()))
            shared = made.numpy()
            self.assertEqual((shared.dtype, shared.tolist()), (source.dtype, source.tolist()))
            source[0, 0] = 1
            self.assertEqual((shared[0, 0], made.tolist()[0][0]), (1, 1))
            self.assertTrue(np.shares_memory(source, shared))

    def shared_after(self, end, share):
        """An array over a tensor that has ended by now, in one of three ways."""
        if end == "scope":
            with ht.scope():
                return share(ht.tensor([1.0, 2.0, 3.0, 4.0]))
        if end == "with":
            with ht.tensor([1.0, 2.0, 3.0, 4.0]) as made:
                return share(made)
        made = ht.tensor([1.0, 2.0, 3.0, 4.0])
        shared = share(made)
        if end == "close":
            made.close()
        return shared

    def test_keeps_the_memory_whatever_ends_the_tensor(self):
        shares = {"numpy": ht.Tensor.numpy, "asarray": np.asarray, "slice": lambda x: x[1:].numpy(),
                  "memoryview": lambda x: memoryview(x.numpy()), "from_dlpack": np.from_dlpack,
                  "view of an array": lambda x: x.numpy()[::2].reshape(2, 1)}
        in_use = lambda: ht.default_device().memory_stats().current  # noqa: E731
        for end in ("scope", "close", "with", "dropped"):
            for name, share in shares.items():
                with self.subTest(end=end, share=name):
                    gc.collect()
                    before, handles = in_use(), ht.live_handles()
                    shared = self.shared_after(end, share)
                    values = np.array(shared)
                    self.assertGreater(in_use(), before)
                    self.assertEqual(ht.live_handles(), handles)  # the array has memory, and no object
                    others = [ht.tensor([9.0] * 4) for _ in range(100)]
                    self.assertEqual(np.asarray(shared).tolist(), values.tolist())
                    if name != "from_dlpack":  # which numpy makes read-only
                        np.asarray(shared)[...] = 7
                    self.assertTrue(all(other.tolist() == [9.0] * 4 for other in others))
                    del shared, others
                    self.assertEqual(in_use(), before)

    def test_results_of_a_loop_with_a_scope_for_each_batch_stay(self):
        collected = []
        for batch in range(20):
            with ht.no_grad(), ht.scope():
                collected.append((ht.tensor([1.0] * 8) * batch).numpy())
        self.assertEqual([array.tolist() for array in collected], [[float(batch)] * 8 for batch in range(20)])

    def test_of_read_only_memory_is_read_only(self):
        repeated = np.lib.stride_tricks.as_strided(np.array([1.0, 2.0]), (3,), (0,))
        shared = ht.from_numpy(repeated).numpy()
        self.assertEqual(shared.tolist(), [1.0] * 3)
        with self.assertRaises(ValueError):
            shared[0] = 5

    def test_of_no_elements_is_empty(self):
        self.assertEqual(ht.Tensor.zeros(ht.default_device(), "f32", [0, 3]).numpy().shape, (0, 3))

    def test_converts_with_asarray(self):
        x = ht.tensor([1.0, 2.0])
        self.assertTrue(np.shares_memory(np.asarray(x), x.numpy()))
        self.assertEqual(np.asarray(x, dtype="float64").dtype, np.float64)

    def test_is_refused_where_it_would_be_wrong(self):
        x = ht.tensor([1.0])
        with self.assertRaisesRegex(TypeError, "bf16; convert them"):
            x.to("bf16").numpy()
        x.requires_grad = True
        with self.assertRaisesRegex(ValueError, "detach"):
            x.numpy()
        self.assertEqual(x.detach().numpy().tolist(), [1.0])


class NumpyArguments(unittest.TestCase):
    def test_are_numbers(self):
        module = nn.Linear(np.int64(3), np.uint8(2), bias=np.False_)
        self.assertEqual((module.parameter_count(), module.parameter(0).shape), (1, (2, 3)))
        self.assertAlmostEqual(ht.Optimizer.adamw(module, lr=np.float32(0.1)).lr, 0.1, 6)
        self.assertEqual(ht.Tensor.zeros(ht.default_device(), "f32", np.array([2, 3])).shape, (2, 3))
        self.assertEqual(ht.Tensor.zeros(ht.default_device(), "f32", (np.int32(4),)).shape, (4,))

    def test_are_bools_as_0_and_1_are(self):
        for is_biased in (True, 1, np.True_, np.int8(1), False, 0, np.False_, np.int8(0)):
            self.assertEqual(nn.Linear(2, 2, bias=is_biased).parameter_count(), 1 + bool(is_biased))
        for wrong in (2, -1, np.int64(2), 1.0, np.float32(1), "True", ht.tensor([1])):
            self.assertRaisesRegex(TypeError, "bias must be a bool, got", nn.Linear, 2, 2, bias=wrong)

    def test_are_not_integers_if_they_are_floats(self):
        for wrong in (3.0, np.float32(3), np.array([3.0]), ht.tensor([3.0]), None):
            self.assertRaisesRegex(TypeError, "in_features must be an int, got", nn.Linear, wrong, 2)

    def test_are_dtypes(self):
        for kind, expected in ((np.float32, "f32"), (np.dtype("int64"), "i64"), ("float16", "f16"), (np.bool_, "bool"),
                               ("bfloat16", "bf16"), (np.dtype("u1"), "u8")):
            self.assertEqual(str(ht.Tensor(ht.default_device(), kind, [2]).dtype), expected)
        for wrong in (np.complex64, np.dtype("u4"), float, True, ht.Reduction.MEAN):
            self.assertRaisesRegex(
                (TypeError, ValueError), "dtype must be a Dtype, got", ht.Tensor, ht.default_device(), wrong, [2])


class Program(unittest.TestCase):
    def test_arrays_of_the_program_are_trained(self):
        """The library reads the program's 16-bit gradients and updates its weights, both in place."""
        weights, gradients = np.array([1, 2], np.float32), np.array([4, -4], np.float16)
        parameter = ht.Parameter("own", ht.from_numpy(weights))
        parameter.set_grad(ht.from_numpy(gradients))
        parameters = ht.Parameters()
        parameters.add(parameter)
        optimizer = ht.Optimizer.sgd_over(parameters, lr=0.5)
        scaler = ht.GradScaler(ht.default_device(), initial_scale=4.0)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(weights.tolist(), [0.5, 2.5])
        gradients[1] = np.inf
        scaler.step(optimizer)
        scaler.update()
        self.assertTrue(optimizer.outcome().skipped)
        self.assertEqual((optimizer.outcome().parameter, scaler.current_scale()), ("own", 2.0))
        self.assertEqual(weights.tolist(), [0.5, 2.5])


class Capsules(unittest.TestCase):
    def test_share_memory_with_numpy_in_both_directions(self):
        x = ht.tensor([[1.0, 2.0], [3.0, 4.0]])
        shared = np.from_dlpack(x)
        x.fill(5)
        self.assertEqual(shared.tolist(), [[5.0, 5.0], [5.0, 5.0]])
        source = np.array([1.0, 2.0])
        made = ht.from_dlpack(source)
        source[0] = 7
        self.assertEqual(made.tolist(), [7.0, 2.0])
        freed = weakref.finalize(source, lambda: None)
        del source
        self.assertEqual((made[1:].tolist(), freed.alive), ([2.0], True))
        del made
        self.assertFalse(freed.alive)

    def test_of_elements_without_a_dtype_are_refused_with_the_way_out(self):
        for dtype in ("u2", "u4", "u8"):
            with self.assertRaisesRegex(ht.HalftoneException, "which no dtype has; convert them first"):
                ht.from_dlpack(np.zeros(2, dtype=dtype))
        with self.assertRaisesRegex(ht.InvalidArgumentError, "negative stride.*copy the elements"):
            ht.from_dlpack(np.zeros(2)[::-1])

    def test_of_both_versions_come_back(self):
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned")):
            self.assertIn(f'"{name}"', repr(ht.tensor([1.0]).__dlpack__(max_version=version)))

            class Producer:
                tensor = ht.tensor([1.0, 2.0])

                def __dlpack__(self):
                    return self.tensor.__dlpack__(max_version=version)

            made = ht.from_dlpack(Producer())
            Producer.tensor.fill(3)
            self.assertEqual(made.tolist(), [3.0, 3.0])

    def test_that_nobody_takes_are_released(self):
        gc.collect()
        before = ht.live_handles(), ht.default_device().memory_stats().current
        for version in (None, (1, 0)):
            ht.tensor([1.0]).__dlpack__(max_version=version)
        self.assertEqual((ht.live_handles(), ht.default_device().memory_stats().current), before)

    def test_are_taken_once(self):
        capsule = ht.tensor([1.0]).__dlpack__()

        class Producer:
            def __dlpack__(self):
                return capsule

        made = ht.from_dlpack(Producer())
        self.assertEqual(made.tolist(), [1.0])
        with self.assertRaises(ValueError):
            ht.from_dlpack(Producer())

    def test_say_where_the_memory_is(self):
        self.assertEqual(ht.tensor([1.0]).__dlpack_device__(), (1, 0))


class OtherDevices(unittest.TestCase):
    def setUp(self):
        context = ht.Context()
        context.load_plugin(os.environ["DEFERRED_PLUGIN"])
        self.tensor = ht.tensor([1.0, 2.0], device=ht.Device("deferred", context)) + 1

    def test_lend_no_memory_whose_work_is_not_done(self):
        self.assertEqual(self.tensor.__dlpack_device__(), (12, 0))
        with self.assertRaisesRegex(ValueError, "memory is that of deferred"):
            self.tensor.numpy()
        with self.assertRaisesRegex(ValueError, "memory is that of deferred"):
            np.asarray(self.tensor)
        with self.assertRaisesRegex(ht.HalftoneException, "only memory of the cpu"):
            self.tensor.__dlpack__()

    def test_give_copies(self):
        self.assertEqual(self.tensor.tolist(), [2.0, 3.0])
        self.assertEqual(self.tensor.to(device=ht.default_device()).tolist(), [2.0, 3.0])


if __name__ == "__main__":
    unittest.main()
