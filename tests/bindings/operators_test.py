"""Operators, comparisons and operations in place of tensors, compared with numpy. Run by CTest."""

import unittest

import halftone as ht
from tensor_values import FLOATS, INTEGERS, Values, np

ARITHMETIC = ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y"]
COMPARISONS = ["x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y"]


class Operators(Values):
    def test_of_two_tensors_give_the_values_of_numpy(self):
        for x, y in ((FLOATS, FLOATS[::-1] + 5), (INTEGERS, INTEGERS[::-1]), (INTEGERS, np.array([2, -2, 3]))):
            for text in ARITHMETIC + COMPARISONS:
                with self.subTest(text, dtype=x.dtype):
                    expected = eval(text, {"x": x, "y": y})
                    self.assertSame(eval(text, {"x": ht.tensor(x), "y": ht.tensor(y)}), expected)

    def test_take_a_number_or_an_array_on_either_side(self):
        for number in (3, -2, 2.0, -1.5, np.float32(2.5), np.float64(2.5), np.int64(3), FLOATS + 9):
            for text in (*ARITHMETIC, *COMPARISONS, "x ** 2"):
                with self.subTest(text, number=number):
                    # numpy computes with the digits of the number's dtype.
                    plain = FLOATS + 9 if isinstance(number, np.ndarray) else np.float32(number)
                    self.assertSame(eval(text, {"x": ht.tensor(FLOATS), "y": number}),
                                    eval(text, {"x": FLOATS, "y": plain}))
                    swapped = text.replace("x", "z").replace("y", "x").replace("z", "y")
                    if "**" not in text:
                        found = eval(swapped, {"x": ht.tensor(FLOATS + 8), "y": number})
                        self.assertIsInstance(found, ht.Tensor)
                        self.assertSame(found, eval(swapped, {"x": FLOATS + 8, "y": plain}))

    def test_give_the_dtypes_of_pytorch(self):
        f32, f16, f64 = (ht.tensor([1.0, 2.0], dtype=name) for name in ("f32", "f16", "f64"))
        i64, i32, flags = ht.tensor([1, 2]), ht.tensor([1, 2], dtype="i32"), ht.tensor([True, False])
        for found, expected in (
            (f32 + f64, "f64"), (f32 + f16, "f32"), (f16 + i64, "f16"), (i64 + 1, "i64"), (i32 + 1, "i32"),
            (i64 + 1.0, "f32"), (i64 * 2.5, "f32"), (2.0 - i64, "f32"), (i64 / 2, "f32"), (i64 / i64, "f32"),
            (f16 + 2.0, "f16"), (f16 * 3, "f16"), (flags + 1, "i64"), (flags + True, "bool"), (flags * 2.0, "f32"),
            (i64**2, "i64"), (i64**2.0, "f32"), (2**i64, "i64"), (i64**i32, "i64"), (i32 // 2, "i32"), (i64 % 2.0,
                                                                                                        "f32"),
            (i32 // i64, "i64"), (ht.where(flags, i64, 0.5), "f32"), (ht.where(flags, f16, 1), "f16"),
            (ht.where(flags, 1, 2), "i64"), (ht.where(flags, 1.0, 2), "f32"), (ht.maximum(i64, 1.5), "f32"),
            (f16 + np.float64(1), "f16"), (i64 * np.float64(2), "f32"), (ht.tensor([1], dtype="u8") / 300, "f32"),
            (f32 + np.ones(2), "f64"),
        ):  # fmt: skip
            self.assertEqual(str(found.dtype), expected)

    def test_keep_every_digit_of_integers(self):
        large = 2**62 + 1
        x = ht.tensor([large, -large])
        self.assertEqual((x + 2**60).tolist(), [large + 2**60, 2**60 - large])
        self.assertEqual((x - (2**53 + 1)).tolist(), [large - 2**53 - 1, -large - 2**53 - 1])
        self.assertEqual((2**53 + 1 - x).tolist(), [2**53 + 1 - large, 2**53 + 1 + large])
        self.assertEqual((x == large).tolist() + (x > 2**63).tolist(), [True, False, False, False])
        self.assertEqual((x // 3).tolist() + (x % 3).tolist(), [large // 3, -large // 3, large % 3, -large % 3])
        self.assertEqual((x // -7).tolist() + (x % -7).tolist(), [large // -7, -large // -7, large % -7, -large % -7])
        self.assertEqual((x // x).tolist() + (x // (x - 1)).tolist(), [1, 1, 1, 0])
        self.assertEqual([x[0].item(), int(x[1]), (x * 1).max().item()], [large, -large, large])
        self.assertEqual((ht.tensor([3, -3]) ** 39).tolist(), [3**39, -(3**39)])
        self.assertEqual((ht.tensor([3, -2, 5]) ** ht.tensor([39, 63, 0])).tolist(), [3**39, -(2**63), 1])
        self.assertEqual((ht.tensor([2, -1, 1, 0]) ** ht.tensor([-1, -3, -2, -1])).tolist(), [0, -1, 1, 0])

    def test_refuse_a_number_that_the_dtype_lacks(self):
        with self.assertRaisesRegex(OverflowError, r"add: other must be in \[-128, 127\] for i8, got 300"):
            ht.tensor([1], dtype="i8") + 300
        with self.assertRaisesRegex(ValueError, "pow: exponent must be at least 0 beside an integer base, got -1"):
            ht.tensor([1]) ** -1
        for call in (lambda x: x // 0, lambda x: x % ht.tensor([0])):
            self.assertRaisesRegex(ValueError, "is 0, and an integer divided by 0 has no value", call, ht.tensor([1]))

    def test_of_division_are_those_of_python(self):
        values = [1.0, -1.0, 7.5, -7.5, 0.0, 0.3, 1e6, -1e6, float("inf")]
        divisors = [0.1, -0.1, 3.0, -3.0, 2.5, float("inf"), -float("inf")]
        for dtype in ("f32", "f64"):
            kind = np.float32 if dtype == "f32" else np.float64
            x, y = kind(values)[:, None], kind(divisors)
            with np.errstate(all="ignore"):
                quotient, rest = x // y, x % y
            a, b = ht.tensor(x), ht.tensor(y)
            np.testing.assert_array_equal((a % b).numpy(), rest)
            finite = np.isfinite(x) & np.isfinite(quotient)
            np.testing.assert_array_equal(np.where(finite, (a // b).numpy(), 0), np.where(finite, quotient, 0))
        self.assertEqual((ht.tensor([1.0, -1.0, 0.0]) // 0.0).tolist()[:2], [float("inf"), -float("inf")])
        self.assertEqual((ht.tensor([1e300, -1e300], dtype="f64") % 3.0).tolist(), [1e300 % 3.0, -1e300 % 3.0])
        self.assertEqual(ht.tensor([7.5, -7.5]).fmod(2).tolist(), [1.5, -1.5])
        self.assertEqual(ht.fmod(-7, ht.tensor([4])).tolist(), [-3])
        self.assertEqual(ht.tensor([7, -7, 2**62 + 1]).div(2, rounding_mode="trunc").tolist(), [3, -3, 2**61])
        x = ht.tensor([7.5, -7.5], requires_grad=True)
        y = ht.tensor([2.0, 2.0], requires_grad=True)
        (x % y).sum().backward()
        self.assertEqual((x.grad.tolist(), y.grad.tolist()), ([1.0, 1.0], [-3.0, 4.0]))

    def test_of_bools_are_logical(self):
        x, y = ht.tensor([True, True, False, False]), ht.tensor([True, False, True, False])
        self.assertEqual((x & y).tolist() + (x | y).tolist(), [True, False, False, False, True, True, True, False])
        self.assertEqual((x ^ y).tolist() + (~x).tolist(), [False, True, True, False, False, False, True, True])
        self.assertEqual((x & True).tolist() + (np.array([True] * 4) & x).tolist(), x.tolist() * 2)
        self.assertEqual((~ht.tensor([0, 5, -1])).tolist() + (~ht.tensor([7], dtype="u8")).tolist(), [-1, -6, 0, 248])
        for call in (lambda: x & ht.tensor([1.0]), lambda: ~ht.tensor([1.0]), lambda: x | 1.5):
            self.assertRaisesRegex(TypeError, "operands must be integers or bools, got f32", call)

    def test_of_bits_are_those_of_numpy(self):
        x, y = np.array([12, -7, 2**62 + 1]), np.array([10, 3, -1])
        a, b = ht.tensor(x), ht.tensor(y)
        for text in ("x & y", "x | y", "x ^ y", "x & 6", "6 | x", "x ^ True", "~x", "(x > 0) & y", "x & (y > 0)"):
            with self.subTest(text):
                self.assertSame(eval(text, {"x": a, "y": b}), eval(text, {"x": x, "y": y}))
        view = a[0]
        a &= b
        a |= 1
        a ^= 2**40
        self.assertEqual((a.tolist(), view.item()), ((((x & y) | 1) ^ 2**40).tolist(), ((12 & 10) | 1) ^ 2**40))
        flags = ht.tensor([True])
        with self.assertRaisesRegex(TypeError, "&=: a result of i64 cannot be written into a tensor of bool"):
            flags &= 1

    def test_refuse_other_objects(self):
        x = ht.tensor([1.0])
        for call in (lambda: x + "a", lambda: x // None, lambda: [] % x, lambda: x & "a", lambda: x @ 2):
            self.assertRaises(TypeError, call)
        with self.assertRaisesRegex(TypeError, "add: other must be a Tensor or a number, got str 'a'"):
            x.add("a")
        with self.assertRaisesRegex(TypeError, "where: condition must be a Tensor, got None"):
            ht.where(None, x, x)


class InPlace(Values):
    def test_writes_into_the_memory(self):
        x = ht.tensor(FLOATS)
        view, expected = x[0], FLOATS.copy()
        x += 1
        x *= ht.tensor([1.0, 2.0, 3.0])
        x -= np.float32(0.5)
        x /= 2
        expected = ((expected + 1) * np.array([1, 2, 3]) - 0.5) / 2
        self.assertSame(view, expected[0].astype(np.float32))
        x.add_(1).sub_(ht.ones(3), alpha=2).mul_(2).div_(4).clamp_(-1, 1).exp_()
        self.assertSame(view, np.exp(np.clip((expected + 1 - 2) * 2 / 4, -1, 1))[0])
        self.assertEqual((x.zero_().tolist(), x.fill_(3)[0].tolist(), view.tolist()), ([[0.0] * 3] * 2, [3.0] * 3,
                                                                                       [3.0] * 3))
        x.copy_(ht.tensor([1, 2, 3])).masked_fill_(x > 2, -1)
        self.assertEqual(view.tolist(), [1.0, 2.0, -1.0])

    def test_keeps_the_dtype_or_is_refused(self):
        x = ht.tensor([1, 2])
        for call in (lambda: x.add_(1.5), lambda: x.div_(2), lambda: x.exp_(), lambda: ht.tensor([True]).add_(1)):
            self.assertRaises((TypeError, ht.HalftoneException), call)
        with self.assertRaisesRegex(ValueError, "other must broadcast to"):
            ht.ones(1).pow_(ht.ones(2))
        self.assertEqual((x.tolist(), x.add_(2).tolist()), ([1, 2], [3, 4]))

    def test_of_a_leaf_is_refused_while_operations_are_recorded(self):
        x = ht.tensor([1.0], requires_grad=True)
        for call in (lambda: x.add_(1), lambda: x.__iadd__(1), lambda: x.zero_(), lambda: x.copy_(ht.ones(1))):
            self.assertRaisesRegex(RuntimeError, r"a leaf that requires a gradient is written inside of no_grad", call)
        with ht.no_grad():
            x -= 0.5
        self.assertEqual((x.tolist(), x.is_leaf), ([0.5], True))

    def test_with_an_operator_is_recorded_as_a_new_tensor(self):
        x = ht.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        same = y
        y += x
        y *= 3
        self.assertIs(y, same)
        y.sum().backward()
        self.assertEqual((y.tolist(), x.grad.tolist()), ([9.0, 18.0], [9.0, 9.0]))
        with self.assertRaisesRegex(RuntimeError, "add_: this tensor is part of a recorded computation"):
            (x * 2).add_(1)


    def test_with_an_operator_that_a_view_would_not_see_is_refused(self):
        weight, x = ht.tensor([1.0, 2.0], requires_grad=True), ht.zeros(2, 2)
        row, recorded = x[0], (weight * 2).reshape(1, 2)
        part, needed = recorded[0], ht.relu(weight)
        array = np.zeros(2, np.float32)
        lent = ht.from_numpy(array)
        for target in (row, x, part, recorded, needed, lent):
            for symbol, call in (("+", "__iadd__"), ("*", "__imul__"), ("**", "__ipow__")):
                with self.subTest(symbol), self.assertRaises(RuntimeError) as raised:
                    getattr(target, call)(weight)
                self.assertIn(f"write x = x {symbol} y in place of x {symbol}= y", str(raised.exception))
        self.assertEqual((x.tolist(), part.tolist(), array.tolist()), ([[0.0, 0.0]] * 2, [2.0, 4.0], [0.0, 0.0]))
        del row, part
        x += weight
        recorded += weight
        self.assertEqual((x.tolist(), recorded.tolist()), ([[1.0, 2.0]] * 2, [[3.0, 6.0]]))


class Comparisons(Values):
    def test_of_whole_tensors_are_those_of_pytorch(self):
        x = ht.tensor([1.0, float("nan"), float("inf"), -float("inf")])
        self.assertEqual((x.isnan().tolist(), x.isinf().tolist(), x.isfinite().tolist()),
                         ([False, True, False, False], [False, False, True, True], [True, False, False, False]))
        self.assertEqual(x.isclose(x).tolist(), [True, False, True, True])
        self.assertTrue(ht.allclose(x, x, equal_nan=True))
        self.assertTrue(ht.tensor([1.0]).allclose(ht.tensor([1.0 + 1e-6])))
        self.assertFalse(ht.allclose(ht.tensor([1.0]), ht.tensor([1.0 + 1e-4])))
        self.assertTrue(ht.tensor([1.0, 2.0]).equal(ht.tensor([1.0, 2.0])))
        self.assertFalse(ht.equal(ht.ones(2), ht.ones(3)))

    def test_choose_fill_and_round_as_pytorch(self):
        x = ht.tensor([[1.256, 0.0], [-150.0, 2.5]])
        rows, columns = x.nonzero(as_tuple=True)
        self.assertEqual((rows.tolist(), columns.tolist()), ([0, 1, 1], [0, 0, 1]))
        self.assertEqual(x.nonzero().tolist(), [[0, 0], [1, 0], [1, 1]])
        self.assertEqual([place.tolist() for place in ht.tensor(3).nonzero(as_tuple=True)], [[0]])
        self.assertSame(x.round(decimals=1), np.float32([[1.3, 0], [-150, 2.5]]))
        self.assertEqual(x.round(decimals=-2).tolist(), [[0, 0], [-200, 0]])
        value = ht.tensor(9.0, requires_grad=True)
        filled = x.masked_fill(x > 1, value)
        filled.sum().backward()
        self.assertEqual((filled.tolist(), value.grad.item()), ([[9.0, 0.0], [-150.0, 9.0]], 2.0))
        self.assertEqual(ht.tensor([1, 2]).masked_fill(ht.tensor([True, False]), 2**62 + 1).tolist(), [2**62 + 1, 2])
        for operands in ((x, x), ((x, x),), ([x, x],)):
            self.assertEqual(ht.einsum("ij,kj->ik", *operands).shape, (2, 2))
        for call, error, text in (
            (lambda: ht.einsum("i,i,i->i", x, x, x), ValueError, "einsum: takes one or two operands"),
            (lambda: ht.tensor([1]).round(decimals=1), TypeError, "round: decimals must be 0"),
            (lambda: x.masked_fill(x > 1, x), ValueError, "masked_fill: value must be a number"),
        ):
            self.assertRaisesRegex(error, text, call)

    def test_of_two_operands_are_those_of_numpy(self):
        x, y, a, b = ht.tensor(FLOATS), ht.tensor(FLOATS[::-1] + 5), FLOATS, FLOATS[::-1] + 5
        i, j = ht.tensor(INTEGERS), INTEGERS
        for found, expected in (
            (x.atan2(y), np.arctan2(a, b)), (ht.logaddexp(x, y), np.logaddexp(a, b)),
            (i.bitwise_and(6), j & 6), (ht.bitwise_or(5, i), 5 | j), (i.bitwise_xor(i > 0), j ^ (j > 0)),
            (x.logical_xor(x > 0), np.logical_xor(a, a > 0)), (i.logical_and(0), j & 0 != 0),
            (x.lerp(y, 0.25), a + 0.25 * (b - a)), (ht.lerp(x, y, x), a + a * (b - a)),
            (x.addcdiv(y, y, value=2), a + 2), (ht.addcmul(x, y, y, value=-0.5), a - 0.5 * b * b),
            (x.tan(), np.tan(a)), (y.log2(), np.log2(b)), (y.log10(), np.log10(b)), (x.trunc(), np.trunc(a)),
            (ht.cdist(x, y, 1.0), np.abs(a[:, None] - b).sum(-1)),
        ):  # fmt: skip
            self.assertSame(found, expected)
        special = ht.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
        self.assertEqual(special.nan_to_num(2, posinf=3).tolist(), [2.0, 3.0, ht.finfo("f32").min, 1.0])
        for call, text in ((lambda: special.nan_to_num(posinf=float("nan")), "nan_to_num: posinf must not be NaN"),
                           (lambda: ht.cdist(x, y, compute_mode="fast"), "cdist: compute_mode must be one of")):
            self.assertRaisesRegex(ValueError, text, call)

    def test_write_at_indices_into_a_new_tensor(self):
        x, index = ht.zeros(2, 3), ht.tensor([[0, 1, 0], [1, 1, 1]])
        src = ht.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        for found, expected in (
            (x.index_add(1, ht.tensor([2, 2]), src[:, :2], alpha=2), [[0, 0, 6], [0, 0, 18]]),
            (x.index_copy(0, ht.tensor([1]), src[:1]), [[0, 0, 0], [1, 2, 3]]),
            (x.scatter(0, index, src), [[1, 0, 3], [4, 5, 6]]), (x.scatter(0, index, value=7), [[7, 0, 7], [7, 7, 7]]),
            (src.scatter(0, index, 2, reduce="multiply"), [[2, 2, 6], [8, 20, 12]]),
            (x.scatter(0, index, src, reduce="add"), [[1, 0, 3], [4, 7, 6]]),
            (x.scatter_add(0, index, src), [[1, 0, 3], [4, 7, 6]]),
            (x.scatter_reduce(0, index, src, "amax"), [[1, 0, 3], [4, 5, 6]]),
            (x.scatter_reduce(0, index, src, "prod", include_self=False), [[1, 0, 3], [4, 10, 6]]),
            (ht.zeros(2, dtype="i64").scatter(0, ht.tensor([1]), 2**62 + 1), [0, 2**62 + 1]),
            (ht.zeros(3, dtype="i64").scatter_(0, ht.tensor([1]), 4.0), [0, 4, 0]),
        ):
            self.assertEqual(found.tolist(), expected)
        for call, text in ((lambda: x.scatter(0, index), "scatter: give either src or value"),
                           (lambda: x.long().scatter(0, index, 1.5), "scatter: value must be whole for a tensor of"),
                           (lambda: x.scatter(0, index, src, reduce="mean"), "reduce must be None, 'add' or 'multi")):
            self.assertRaisesRegex((TypeError, ValueError), text, call)

    def test_products_check_their_dimensions(self):
        a, b = FLOATS, FLOATS.T.copy()
        x, y = ht.tensor(a), ht.tensor(b)
        for found, expected in ((x.mm(y), a @ b), (ht.bmm(x[None], y[None]), (a @ b)[None]), (x.mv(x[0]), a @ a[0]),
                                (x[0].dot(x[1]), np.asarray(a[0] @ a[1])), (x[0].outer(x[1]), np.outer(a[0], a[1])),
                                (ht.addmm(ht.ones(2), x, y, beta=2, alpha=3), 2 + 3 * (a @ b)), (a @ y, a @ b),
                                (x.add(x, alpha=2), 3 * a), (x.diagonal(), np.diagonal(a)),
                                (ht.trace(x), np.asarray(np.trace(a)))):
            self.assertSame(found, expected)
        with self.assertRaisesRegex(ValueError, r"mm: mat2 must have 2 dimensions, got shape \(1, 3, 2\)"):
            x.mm(y[None])


class Numbers(Values):
    def test_are_chosen_and_bounded(self):
        x, a = ht.tensor(FLOATS), FLOATS
        for found, expected in ((ht.where(x > 1, x, 0), np.where(a > 1, a, 0)), (ht.where(x > 1, 1.5, x),
                                                                                 np.where(a > 1, 1.5, a)),
                                (x.where(x > 1, -1), np.where(a > 1, a, -1)), (ht.maximum(x, 1), np.maximum(a, 1)),
                                (ht.minimum(1.5, x), np.minimum(a, 1.5)), (x.clamp(0), np.maximum(a, 0)),
                                (x.clamp(max=1), np.minimum(a, 1)), (x.clamp(-1, x[0].abs()), np.clip(a, -1,
                                                                                                      abs(a[0]))),
                                (ht.pow(2, x), 2**a), (ht.tensor(INTEGERS).clamp(-1, 3), np.clip(INTEGERS, -1, 3)),
                                (ht.where(x > 1)[1], np.where(a > 1)[1]), (ht.eq(x, 4), a == 4)):
            self.assertSame(found, expected.astype(found.numpy().dtype))

    def test_of_one_element_are_pythons(self):
        x = ht.tensor(2.5)
        self.assertEqual((f"{x:.3f}", f"{ht.tensor([3])[0]:04d}", format(x, ""), float(x), int(x)),
                         ("2.500", "0003", str(x), 2.5, 2))
        self.assertEqual([type(ht.tensor(value).item()) for value in (1, 1.0, True)], [int, float, bool])
        self.assertEqual(list(range(5))[ht.tensor(3)], 3)
        self.assertRaisesRegex(TypeError, "an index must be an integer tensor", [1].__getitem__, ht.tensor(0.0))
        self.assertRaises(Exception, format, ht.ones(2), ".3f")
        self.assertTrue(2 in ht.arange(3) and 5 not in ht.arange(3) and None not in ht.arange(3))


if __name__ == "__main__":
    unittest.main()
