"""Reading and writing of tensors by index, compared with numpy. Run by CTest."""

import sys
import unittest

import halftone as ht

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)

SHAPE = (3, 4, 5)
MASK = np.arange(60).reshape(SHAPE) % 7 < 3
ROWS = np.array([True, False, True])
PAIRS = np.arange(12).reshape(3, 4) % 5 == 0
GRID = np.array([[0, 2, 1], [-1, 0, 0]])
# Keys that numpy and PyTorch read alike.
KEYS = [
    0, -1, (1, 2), (1, 2, 3), slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(None, None, -2),
    slice(2, 0, -1), slice(0, 2, -1), slice(5, 9), (slice(None), slice(3, None, -2), slice(None, None, -1)),
    ..., (..., 0), (0, ...), (0, ..., slice(1, 3)), None, (None, 0, None), (..., None), (), (slice(None), None),
    (0, slice(None, None, -1), None, slice(1, 4, 2)), np.int64(2), True, False, (True, 0),
    [0, 2], [-1, 0, 0], [[0, 1], [2, 0]], [], range(2), (slice(None), [1, 3]), (..., [4, 0]), GRID, (slice(None), GRID),
    ([0, 1], [1, 3]), ([0, 2], slice(None), [1, 4]), (slice(None), [0, 1], [2, 3]), ([[0], [2]], [1, 3]),
    (slice(None, None, -1), [0, 3]), ([0, 1], None, slice(None, None, -2)), (None, [0, 1]), ([2, 0], [1, 1], [0, 4]),
    MASK, ROWS, PAIRS, (slice(None), np.array([True, False, False, True])), (..., np.array([True] * 2 + [False] * 3)),
    [True, False, True], (ROWS, [1, 2]), (ROWS, slice(None), 0), np.zeros(3, bool), (PAIRS, [0, 1, 4]),
    (slice(None, None, -1), np.array([True, False, False, True]), slice(None, None, -1)),
]  # fmt: skip


def source():
    return np.arange(60, dtype=np.float32).reshape(SHAPE)


def converted(key, convert):
    """The key with each of its arrays as a tensor."""
    if isinstance(key, tuple):
        return tuple(converted(item, convert) for item in key)
    return convert(key) if isinstance(key, np.ndarray) else key


class Reading(unittest.TestCase):
    def test_gives_the_elements_of_numpy(self):
        for key in KEYS:
            with self.subTest(key=key):
                expected = source()[key]
                for convert in (lambda item: item, ht.tensor):
                    found = ht.tensor(source())[converted(key, convert)]
                    self.assertEqual((found.shape, found.tolist()), (expected.shape, expected.tolist()))

    def test_counts_a_gradient_of_1_for_each_element_that_was_read(self):
        for key in KEYS:
            with self.subTest(key=key):
                x = ht.tensor(source()).requires_grad_()
                found = x[key]
                if not found.numel():
                    continue
                found.sum().backward()
                expected = np.zeros(SHAPE)
                np.add.at(expected, key, 1)
                self.assertEqual(x.grad.tolist(), expected.tolist())

    def test_applies_an_integer_before_the_lists_as_pytorch(self):
        """numpy counts the integer as one of the lists and gives (2, 4)."""
        self.assertEqual(ht.tensor(source())[0, :, [1, 2]].shape, (4, 2))

    def test_of_integers_and_slices_shares_the_memory(self):
        x = ht.tensor(source())
        for key in (0, slice(1, None), (..., 2), None, ..., (slice(None), 1)):
            x[key].fill_(7)
            self.assertTrue(bool((x[key] == 7).all()))
        x[[0, 1]].fill_(-1)
        self.assertFalse(bool((x == -1).any()))

    def test_takes_indices_of_every_signed_dtype(self):
        x = ht.tensor([1.0, 2.0, 3.0])
        for dtype in ("i64", "i32", "i16", "i8"):
            self.assertEqual(x[ht.tensor([2, -3], dtype=dtype)].tolist(), [3.0, 1.0])

    def test_by_a_tensor_without_dimensions_is_by_its_value(self):
        x = ht.tensor([1.0, 2.0, 3.0])
        self.assertEqual((x[ht.tensor(2)].item(), x[ht.tensor(True)].shape), (3.0, (1, 3)))

    def test_refuses_wrong_keys(self):
        x = ht.tensor(source())
        wrong = [
            (3, "index 3 is out of range for dimension 0 of size 3"),
            ((0, -5), "index -5 is out of range for dimension 0 of size 4"),
            ([0, 3], "index 3 is out of range for dimension 0 of size 3"),
            ((slice(None), [0, -5]), "index -5 is out of range for dimension 1 of size 4"),
            ((0, 0, 0, 0), "4 indices for 3 dimensions"),
            ((..., 0, ...), "one ellipsis"),
            (1.5, "an index must be an int, .* got float 1.5"),
            ("a", "an index must be an int, .* got str 'a'"),
            ([0.5], "indices must be i64, i32, i16, i8 or bool, got f32"),
            (np.array([1, 2], np.uint8), "got u8"),
            (np.array([True, False]), r"a mask of shape \(2,\) does not fit dimensions of sizes \(3,\)"),
            (([0, 1], [0, 1, 2]), r"indices of shapes \(2,\) and \(3,\) do not broadcast"),
        ]
        for key, text in wrong:
            with self.subTest(key=key), self.assertRaisesRegex(IndexError, text):
                x[key]


class Writing(unittest.TestCase):
    def check(self, key, value):
        expected, found = source(), ht.tensor(source())
        expected[key] = value
        found[key] = value
        self.assertEqual(found.tolist(), expected.tolist())

    def test_stores_the_elements_as_numpy(self):
        for key in KEYS:
            shape = source()[key].shape
            # numpy writes the last value, too, if an index comes twice.
            for value in (-1, -2.5, np.float32(-3), -np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 1):
                with self.subTest(key=key, value=value):
                    self.check(key, value)

    def test_broadcasts_and_converts_the_value(self):
        for key, value in ((0, np.arange(5.0)), (slice(None), np.arange(4).reshape(4, 1)), ([0, 2], [[1], [2], [3],
                                                                                                     [4]]),
                           (MASK, [9]), ((0, 0), [1, 2, 3, 4, 5]), (1, np.ones((1, 1, 4, 5)))):
            with self.subTest(key=key):
                self.check(key, value)
        x = ht.tensor([1, 2, 3])
        x[0], x[1:] = 2.9, ht.tensor([True, False])
        self.assertEqual((x.dtype, x.tolist()), (ht.int64, [2, 1, 0]))

    def test_writes_the_last_of_several_values_for_one_place(self):
        x = ht.tensor([0, 0, 0, 0])
        x[[1, 3, 1, 3, 1]] = ht.tensor([10, 20, 30, 40, 50])
        self.assertEqual(x.tolist(), [0, 50, 0, 40])

    def test_keeps_every_digit_of_integers(self):
        x = ht.tensor([1, 2, 3])
        x[0], x[[1]], x[x == 3] = 2**53 + 1, 2**62 + 1, -(2**62) - 1
        self.assertEqual(x.tolist(), [2**53 + 1, 2**62 + 1, -(2**62) - 1])

    def test_reads_all_of_a_value_that_shares_the_memory_first(self):
        x = ht.tensor([0, 1, 2, 3, 4])
        x[1:] = x[:-1]
        self.assertEqual(x.tolist(), [0, 0, 1, 2, 3])
        x[::-1] = x
        self.assertEqual(x.tolist(), [3, 2, 1, 0, 0])

    def test_reaches_the_memory_through_a_view(self):
        x = ht.tensor(source())
        view = x[1].transpose(0, 1)
        view[0], view[:, [1, 2]] = 7, 8
        expected = source()
        expected[1].T[0], expected[1].T[:, [1, 2]] = 7, 8
        self.assertEqual(x.tolist(), expected.tolist())

    def test_works_with_operators(self):
        x, expected = ht.tensor(source()), source()
        for key in (0, [0, 1, 1], MASK):
            x[key] += 1
            expected[key] += 1
            x[key] *= 2
            expected[key] *= 2
        self.assertEqual(x.tolist(), expected.tolist())

    def test_of_a_leaf_is_refused_while_operations_are_recorded(self):
        x = ht.tensor([1.0, 2.0], requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "a leaf that requires a gradient"):
            x[0] = 5
        with ht.no_grad():
            x[0] = 5
        self.assertEqual((x.tolist(), x.requires_grad), ([5.0, 2.0], True))

    def test_that_had_to_be_recorded_is_refused(self):
        x = ht.tensor([1.0, 2.0], requires_grad=True)
        y, plain = x * 2, ht.zeros(2)
        with self.assertRaisesRegex(RuntimeError, "this tensor is part of a recorded computation"):
            y[0] = 5
        with self.assertRaisesRegex(RuntimeError, "what is written is part of a recorded computation.*no_grad"):
            plain[0] = y[0]
        plain[0] = y[0].detach()
        self.assertEqual(plain.tolist(), [2.0, 0.0])

    def test_of_a_saved_tensor_is_noticed_by_backward(self):
        x, weight = ht.tensor([1.0, 2.0]), ht.tensor([3.0, 4.0], requires_grad=True)
        loss = (x * weight).sum()
        x[[0]] = 9
        self.assertRaises(ht.HalftoneException, loss.backward)

    def test_refuses_wrong_values(self):
        x = ht.tensor(source())
        for key, value, error, text in (
            (0, [1.0, 2.0], ValueError, r"value of shape \(2,\) does not broadcast to \(4, 5\)"),
            ([0, 1], np.ones((3, 4, 5)), ValueError, r"does not broadcast to \(2, 4, 5\)"),
            (0, "a", TypeError, "value must be a Tensor, a number, an array or a list, got str 'a'"),
            (0, None, TypeError, "got None"),
        ):
            with self.subTest(key=key), self.assertRaisesRegex(error, text):
                x[key] = value
        with self.assertRaisesRegex(OverflowError, r"value must be in \[-128, 127\] for i8, got 300"):
            ht.zeros(2, dtype="i8")[0] = 300
        with self.assertRaises(ht.HalftoneException):
            ht.zeros(1, 3).expand(2, 3)[:] = 1  # its elements share memory
        self.assertEqual(x.tolist(), source().tolist())


if __name__ == "__main__":
    unittest.main()
