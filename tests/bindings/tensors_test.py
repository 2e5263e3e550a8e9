"""Methods, reductions and copies of tensors under PyTorch's names, compared with numpy. Run by CTest."""

import copy
import pickle
import unittest

import halftone as ht
from tensor_values import FLOATS, INTEGERS, Values, np


class Methods(Values):
    def test_of_shapes_are_those_of_numpy(self):
        x, a = ht.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4)
        for found, expected in (
            (x.view(6, 4), a.reshape(6, 4)), (x.view(-1), a.reshape(-1)), (x.reshape([4, -1]), a.reshape(4, -1)),
            (x.permute(2, 0, 1), a.transpose(2, 0, 1)), (x.permute([1, 0, 2]), a.transpose(1, 0, 2)),
            (x.flatten(), a.reshape(-1)), (x.flatten(1), a.reshape(2, 12)), (x.flatten(0, 1), a.reshape(6, 4)),
            (x.unflatten(2, (2, -1)), a.reshape(2, 3, 2, 2)), (x[0].expand(2, 3, 4), np.stack([a[0], a[0]])),
            (x[:1].expand(5, -1, -1), np.repeat(a[:1], 5, 0)), (x[0].expand_as(x), np.stack([a[0], a[0]])),
            (x.repeat(1, 2, 1), np.tile(a, (1, 2, 1))), (x.tile(2), np.tile(a, 2)),
            (x.repeat_interleave(2, 1), np.repeat(a, 2, 1)), (x.repeat_interleave(3), np.repeat(a, 3)),
            (x.repeat_interleave(ht.tensor([2, 0, 1]), 1), np.repeat(a, [2, 0, 1], 1)),
            (x.repeat_interleave(ht.tensor([2]), 1), np.repeat(a, 2, 1)), (x[0, 0].diag(1), np.diag(a[0, 0], 1)),
            (x.narrow(2, 1, 2), a[:, :, 1:3]), (x.select(1, -1), a[:, -1]), (x.T, a.T), (x.mT, a.transpose(0, 2, 1)),
            (x[0].t(), a[0].T), (x.transpose(0, 2), a.swapaxes(0, 2)), (x.movedim(0, -1), np.moveaxis(a, 0, -1)),
            (x.flip(0, 2), a[::-1, :, ::-1]), (x.roll(1, 2), np.roll(a, 1, 2)), (x.roll(5), np.roll(a, 5)),
            (x.roll((1, 2), (0, 1)), np.roll(a, (1, 2), (0, 1))), (x.unsqueeze(1).squeeze(1), a),
            (x[:1].squeeze(), a[0]), (ht.cat([x, x]), np.concatenate([a, a])), (ht.stack([x, x], 1), np.stack([a, a],
                                                                                                              1)),
            (x.masked_select(x > 20), a[a > 20]), (x.masked_select(ht.tensor([True, False, False, True])),
                                                    a[:, :, [0, 3]].reshape(-1)),
        ):  # fmt: skip
            self.assertSame(found, expected)
        for found, expected in ((x.split(2, 2), np.split(a, 2, 2)), (x.split([1, 2], 1), np.split(a, [1], 1)),
                                (x.chunk(2, 1), [a[:, :2], a[:, 2:]]), (x.chunk(9), [a[:1], a[1:]]),
                                (x.unbind(1), [a[:, 0], a[:, 1], a[:, 2]]), (reversed(x), a[::-1]),
                                (ht.meshgrid(x[0, 0], x[0, :, 0], indexing="xy"), np.meshgrid(a[0, 0], a[0, :, 0])),
                                (ht.meshgrid([x[0, 0], x[0, :, 0]]), np.meshgrid(a[0, 0], a[0, :, 0], indexing="ij"))):
            self.assertEqual(len(found), len(expected))
            for part, of_numpy in zip(found, expected):
                self.assertSame(part, of_numpy)
        self.assertEqual((x.size(), x.size(-1), x.dim(), x.stride(), x.stride(0), x.nelement()),
                         ((2, 3, 4), 4, 3, (12, 4, 1), 12, 24))

    def test_of_diagonals_are_those_of_numpy(self):
        x, a = ht.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4)
        for offset in range(-4, 5):
            for dims in ((0, 1), (1, 2), (2, 0)):
                with self.subTest(offset=offset, dims=dims):
                    self.assertSame(x.diagonal(offset, *dims), a.diagonal(offset, *dims))
        square = ht.zeros(3, 3)
        square.diagonal()[:] = ht.tensor([1.0, 2.0, 3.0])
        square.diagonal(1).fill_(7)
        self.assertEqual(square.tolist(), [[1, 7, 0], [0, 2, 7], [0, 0, 3]])
        self.assertEqual((ht.trace(square).item(), ht.tensor(INTEGERS[:, :2]).trace().item()), (6, 15))

    def test_of_shapes_take_their_sizes_by_name(self):
        x = ht.arange(6)
        turned = x.reshape(shape=(2, 3)).permute(dims=(1, 0)).flip(dims=(0,))
        self.assertEqual(turned.tolist(), [[2, 5], [1, 4], [0, 3]])
        self.assertEqual(ht.zeros(size=(2, 3)).expand(size=(4, 2, 3)).shape, (4, 2, 3))
        self.assertEqual(x.view(size=(3, 2)).tile(dims=(2,)).shape, (3, 4))
        with self.assertRaisesRegex(TypeError, "reshape: shape is given twice, by its place and by its name"):
            x.reshape(6, shape=(6,))

    def test_of_views_share_the_memory_or_are_refused(self):
        x = ht.arange(24).reshape(2, 3, 4)
        for source, shape in ((x, (24,)), (x[:, :, ::2], (6, 2)), (x[:, 1:], (2, 8)), (x.transpose(0, 1), (3, 2, 2, 2)),
                              (x[:, :1], (2, 4)), (x[:0], (0, 7))):
            self.assertEqual(source.view(shape).data_ptr(), source.data_ptr())
            self.assertEqual(source.view(*shape).tolist(), source.reshape(shape).tolist())
        for source, shape in ((x[:, :, ::3], (12,)), (x.transpose(0, 1), (24,)), (x[:, 1:], (16,))):
            with self.assertRaisesRegex(ValueError, "needs a copy .*; use reshape"):
                source.view(*shape)
            self.assertNotEqual(source.reshape(shape).data_ptr(), source.data_ptr())
        with self.assertRaisesRegex(TypeError, "the bytes cannot be read as f32"):
            x.view(ht.float32)

    def test_convert(self):
        x = ht.tensor([1.7, 0.0])
        for name, dtype in (("double", "f64"), ("float", "f32"), ("half", "f16"), ("bfloat16", "bf16"), ("long", "i64"),
                            ("int", "i32"), ("short", "i16"), ("char", "i8"), ("byte", "u8"), ("bool", "bool")):
            self.assertEqual((str(getattr(x, name)().dtype), x.type(dtype).dtype), (dtype, ht.Dtype[dtype.upper()]))
        self.assertEqual((x.bool().tolist(), x.long().tolist()), ([True, False], [1, 0]))
        for arguments in (("f16",), ("float16",), (ht.float16,), (np.float16,), (np.dtype("f2"),), ("cpu", "f16"),
                          (x.device, ht.half), (ht.zeros(1).half(),)):
            self.assertEqual(x.to(*arguments).dtype, ht.float16)
        self.assertEqual(x.to(dtype=ht.int8, device="cpu").dtype, ht.int8)
        for same in (x.to("cpu"), x.to(x.device), x.cpu(), x.float(), x.to("f32")):
            self.assertEqual(same.data_ptr(), x.data_ptr())
        self.assertNotEqual(x.to("f32", copy=True).data_ptr(), x.data_ptr())
        self.assertEqual((x.half().element_size(), x.is_floating_point(), x.long().is_floating_point(), x.type()),
                         (2, True, False, "f32"))
        with self.assertRaisesRegex(TypeError, "to: dtype must be a dtype, .* got list"):
            x.to([])

    def test_of_autograd_are_those_of_pytorch(self):
        x = ht.tensor([1.0], requires_grad=True)
        y = x * 2
        self.assertEqual((x.is_leaf, y.is_leaf, y.detach().is_leaf, x.data.requires_grad), (True, False, True, False))
        y.backward()
        self.assertEqual(x.grad.tolist(), [2.0])
        x.grad = None
        self.assertIsNone(x.grad)
        self.assertFalse(y.detach_().requires_grad)
        self.assertFalse(x.requires_grad_(False).requires_grad)
        seen = []
        x.requires_grad_().register_hook(lambda gradient: seen.append(gradient.item()))
        (x * 3).backward()
        self.assertEqual(seen, [3.0])


class Reductions(Values):
    def test_over_dimensions_are_those_of_numpy(self):
        x, a = ht.tensor(FLOATS), FLOATS
        for name in ("sum", "mean", "prod", "amax", "amin", "any", "all"):
            for dim in (None, 0, -1, (0, 1)):
                for keepdim in (False, True):
                    with self.subTest(name, dim=dim, keepdim=keepdim):
                        expected = np.asarray(getattr(np, name)(a, axis=dim, keepdims=keepdim))
                        self.assertSame(getattr(x, name)(dim, keepdim), expected)
                        self.assertSame(getattr(ht, name)(x, dim=dim, keepdim=keepdim), expected)
        for correction in (0, 1):
            self.assertSame(x.var(1, correction=correction), a.var(1, ddof=correction))
            self.assertSame(x.std(1, unbiased=bool(correction)), a.std(1, ddof=correction))
            self.assertSame(x.std(bool(correction)), np.asarray(a.std(ddof=correction)))
        self.assertSame(x.var(1, correction=None), a.var(1, ddof=1))
        self.assertSame(x.sum(0, dtype="f64"), a.sum(0, dtype=np.float64))
        self.assertEqual(str(ht.tensor(INTEGERS).sum(dtype="i32").dtype) + str(x.prod(dtype=bool).dtype), "i32bool")
        self.assertSame(ht.tensor(INTEGERS).mean(dtype=ht.float32), np.asarray(INTEGERS.mean()))

    def test_give_the_largest_with_their_indices(self):
        x, a = ht.tensor(FLOATS), FLOATS
        for name in ("max", "min"):
            found = getattr(x, name)(1, keepdim=True)
            self.assertSame(found.values, getattr(a, name)(1, keepdims=True))
            self.assertSame(found.indices, getattr(a, "arg" + name)(1)[:, None])
            values, _ = getattr(ht, name)(x, dim=0)
            self.assertSame(values, getattr(a, name)(0))
            self.assertSame(getattr(x, name)(), np.asarray(getattr(a, name)()))
            self.assertSame(getattr(x, "arg" + name)(), np.asarray(getattr(a, "arg" + name)()))
            self.assertSame(getattr(x, "arg" + name)(dim=0), getattr(a, "arg" + name)(0))
        self.assertSame(x.max(ht.zeros(3)), np.maximum(a, 0))
        self.assertEqual(x.argmax(keepdim=True).shape, (1, 1))

    def test_order_the_elements(self):
        x, a = ht.tensor(FLOATS), FLOATS
        self.assertSame(x.sort().values, np.sort(a))
        self.assertSame(x.sort(0, descending=True).indices, np.argsort(-a, 0))
        self.assertSame(x.argsort(), np.argsort(a))
        self.assertSame(x.topk(2).values, -np.sort(-a)[:, :2])
        self.assertSame(x.topk(1, 0, largest=False).indices, np.argmin(a, 0)[None])
        self.assertSame(x.cumsum(1), np.cumsum(a, 1))
        self.assertSame(x.softmax(-1).sum(-1), np.ones(2))
        for found, expected in ((x.kthvalue(2), np.sort(a)[:, 1]),
                                (ht.median(x, 1, True), np.median(a, 1, keepdims=True)),
                                (x.cummax(0), np.maximum.accumulate(a)), (x.cummin(1), np.minimum.accumulate(a, 1))):
            self.assertSame(found.values, expected)
        self.assertEqual([x.kthvalue(2).indices.tolist(), x.cummax(0).indices.tolist(), x.median().item()],
                         [[2, 2], [[0, 0, 0], [1, 1, 1]], 0.25])

    def test_find_and_count(self):
        x, a, shares = ht.tensor(FLOATS), FLOATS, ht.tensor([0.25, 0.5])
        i = ht.tensor([3, 0, 3])
        for found, expected in (
            (x.quantile(0.3, 1), np.quantile(a, 0.3, 1)), (x.quantile(shares), np.quantile(a, [0.25, 0.5])),
            (ht.quantile(x, 0.3, keepdim=True, interpolation="lower"), np.sort(a.reshape(-1))[1].reshape(1, 1)),
            (i.bincount(minlength=5), np.bincount([3, 0, 3], minlength=5)),
            (i.bincount(ht.tensor([0.5, 1.0, 2.0])), np.bincount([3, 0, 3], [0.5, 1.0, 2.0])),
            (ht.isin(i, ht.tensor([3, 4])), np.isin([3, 0, 3], [3, 4])), (ht.isin(3, i), np.asarray(True)),
            (ht.isin(i, 0, invert=True), [True, False, True]),
            (ht.searchsorted(ht.tensor([1, 3, 3]), i, right=True), np.searchsorted([1, 3, 3], [3, 0, 3], "right")),
            (ht.searchsorted(i, 3, sorter=i.argsort(), side="left"), np.asarray(1)),
        ):  # fmt: skip
            self.assertSame(found, np.asarray(expected))
        self.assertEqual(str(ht.searchsorted(i, i, out_int32=True).dtype), "i32")
        for call, text in ((lambda: ht.searchsorted(i, i, right=True, side="left"), "right=True and side='left'"),
                           (lambda: x.quantile(ht.ones(1, 1)), "quantile: q must be a number or a vector")):
            self.assertRaisesRegex(ValueError, text, call)

    def test_are_norms(self):
        x, a = ht.tensor(FLOATS), FLOATS
        for p in (1, 2, float("inf"), 3.5):
            self.assertSame(x.norm(p, dim=1), np.linalg.norm(a, p, axis=1) if p != 3.5 else
                            (np.abs(a) ** 3.5).sum(1) ** (1 / 3.5))
        self.assertSame(ht.norm(x), np.asarray(np.linalg.norm(a)))
        self.assertRaisesRegex(ValueError, "norm: p must be a number or 'fro', got str 'nuc'", x.norm, "nuc")

    def test_say_which_argument_is_wrong(self):
        x = ht.tensor(FLOATS)
        for call, text in ((lambda: x.sum("a"), "sum: dim must be an int or a sequence of ints, got str 'a'"),
                           (lambda: x.sum(1.5), "sum: dim must be an int or a sequence of ints, got float 1.5"),
                           (lambda: x.reshape("a"), "reshape: shape must be an int or a sequence of ints, got str 'a'"),
                           (lambda: x.reshape(2, "a"), "reshape: shape must be an int, got str 'a'"),
                           (lambda: x.max("a"), "max: dim must be an int, got str 'a'"),
                           (lambda: ht.zeros(2.0), "zeros: size must be an int or a sequence of ints, got float 2.0"),
                           (lambda: ht.cat([x, 3]), r"cat: tensors\[1\] must be a Tensor, got int 3"),
                           (lambda: ht.mean([1.0]), "mean: input must be a Tensor, got list"),
                           (lambda: ht.mm(x, 2), "mm: mat2 must be a Tensor, got int 2"),
                           (lambda: x.clamp("a"), "clamp: min must be a Tensor or a number, got str 'a'"),
                           (lambda: x.split(None), "split: split_size_or_sections must be an int, got None")):
            with self.assertRaisesRegex(TypeError, text):
                call()


class Copies(Values):
    def test_have_memory_of_their_own(self):
        for dtype in ("f32", "bf16", "f8e4m3", "i64", "bool"):
            x = ht.tensor([[1.0, 0.0], [2.0, 3.0]]).to(dtype)
            for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x.T)).T):
                self.assertEqual((made.dtype, made.to("f32").tolist()), (x.dtype, x.to("f32").tolist()))
                self.assertNotEqual(made.data_ptr(), x.data_ptr())
        x = ht.tensor([1.0], requires_grad=True)
        for made in (copy.deepcopy([x, x]), pickle.loads(pickle.dumps([x, x]))):
            self.assertIs(made[0], made[1])
            self.assertTrue(made[0].requires_grad and made[0].is_leaf)
        self.assertRaisesRegex(RuntimeError, "deepcopy: the tensor is a result", copy.deepcopy, x * 2)

    def test_of_the_object_share_the_memory(self):
        x = ht.tensor([1.0, 2.0])
        same = copy.copy(x)
        x.fill_(3)
        x.close()
        self.assertEqual(same.tolist(), [3.0, 3.0])

    def test_are_arrays(self):
        x = ht.tensor(FLOATS)
        self.assertFalse(np.shares_memory(np.array(x), x.numpy()))
        self.assertEqual(np.array([ht.tensor(1.0).item(), 2.0]).tolist(), [1.0, 2.0])


if __name__ == "__main__":
    unittest.main()
