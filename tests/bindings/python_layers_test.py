"""Layers, losses, activations and initial values of Python. Run by CTest."""

import copy
import inspect
import math
import unittest

import halftone as ht
import halftone.nn.functional as F
from callbacks import Counted
from halftone import nn
from networks import Scaled, ones, through_file


class Layers(Counted):
    def test_have_signatures_and_documentation(self):
        self.assertEqual(list(inspect.signature(nn.Linear).parameters),
                         ["in_features", "out_features", "bias", "device", "dtype"])
        self.assertIn("heads", inspect.signature(nn.Transformer).parameters)
        self.assertEqual(inspect.signature(nn.MSELoss).parameters["reduction"].default, "mean")
        for name in nn.layers.__all__:
            with self.subTest(name):
                self.assertTrue(getattr(nn, name).__doc__)
        with self.assertRaisesRegex(TypeError, "Linear: missing a required argument: 'out_features'"):
            nn.Linear(3)

    def test_take_pytorch_s_arguments(self):
        x = ones(2, 4, 8, 8)
        cases = [(nn.Conv2d(4, 6, 3, stride=2, padding=1), (2, 6, 4, 4)), (nn.Conv2d(4, 6, (1, 3), padding="same"),
                 (2, 6, 8, 8)), (nn.MaxPool2d(2), (2, 4, 4, 4)), (nn.AvgPool2d(2, stride=1), (2, 4, 7, 7)),
                 (nn.AdaptiveAvgPool2d(1), (2, 4, 1, 1)), (nn.BatchNorm2d(4), x.shape), (nn.GroupNorm(2, 4), x.shape),
                 (nn.LayerNorm(8), x.shape), (nn.RMSNorm([8, 8]), x.shape), (nn.Flatten(), (2, 256)),
                 (nn.Flatten(2), (2, 4, 64)), (nn.Unflatten(1, (2, 2)), (2, 2, 2, 8, 8)), (nn.Softmax(dim=1), x.shape),
                 (nn.LeakyReLU(0.1), x.shape), (nn.GELU(approximate="tanh"), x.shape), (nn.Identity(3, a=1), x.shape),
                 (nn.ConvTranspose2d(4, 2, 2, stride=2), (2, 2, 16, 16)), (nn.Upsample(scale_factor=2), (2, 4, 16, 16)),
                 (nn.InstanceNorm2d(4), x.shape), (nn.ZeroPad2d(1), (2, 4, 10, 10)), (nn.Hardswish(), x.shape),
                 (nn.SELU(), x.shape), (nn.GLU(1), (2, 2, 8, 8)), (nn.PReLU(4), x.shape),
                 (nn.ReflectionPad2d(2), (2, 4, 12, 12)),
                 (nn.Upsample(scale_factor=2, mode="bicubic"), (2, 4, 16, 16)), (nn.MaxPool3d(2), (2, 2, 4, 4)),
                 (nn.AvgPool3d((1, 2, 2)), (2, 4, 4, 4)), (nn.Unfold(2, stride=2), (2, 16, 16)),
                 (nn.ConvTranspose3d(2, 1, 2, stride=2), (1, 8, 16, 16))]
        for layer, shape in cases:
            with self.subTest(repr(layer)):
                self.assertEqual(layer(x).shape, shape)
        for make, error, text in ((lambda: nn.Conv2d(1, 2, (3, 3, 3)), ValueError, "Conv2d: kernel_size must be a number "
                                   r"or 2 of them, got \(3, 3, 3\)"),
                                  (lambda: nn.Conv2d(1, 2, 3, padding_mode="mirror"), ValueError,
                                   "Conv2d: padding_mode must be one of .*'reflect'"),
                                  (lambda: nn.ConvTranspose2d(1, 2, 3, padding_mode="reflect"), NotImplementedError,
                                   "ConvTranspose2d: padding_mode='reflect' is not supported"),
                                  (lambda: nn.Softmax(axis=1), TypeError, "Softmax: got an unexpected keyword argument 'axis'"),
                                  (lambda: nn.MSELoss(reduction="avg"), ValueError, "MSELoss: reduction must be")):
            with self.assertRaisesRegex(error, text):
                make()

    def test_convolutions_pad_in_other_ways(self):
        x = ht.arange(20.0).reshape(1, 1, 4, 5)
        for mode in ("reflect", "replicate", "circular"):
            layer = nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode)
            for made in (layer, nn.Sequential(layer), copy.deepcopy(layer), through_file(layer)):
                expected = F.conv2d(F.pad(x, (2, 2, 1, 1), mode), layer.weight, layer.bias)
                self.assertEqual(made(x).tolist(), expected.tolist())
            self.assertIn(f"padding=(1, 2), padding_mode={mode!r}", repr(layer))
            self.assertEqual(list(layer.state_dict()), ["weight", "bias"])
        layer(x).sum().backward()
        self.assertEqual(layer.weight.grad.shape, (2, 1, 3, 3))
        moved = layer.half()(x.half()), Scaled(2, 2).double()(ones(1, 2).double())
        self.assertEqual([str(made.dtype) for made in moved], ["f16", "f64"])

    def test_losses_are_modules_over_functional(self):
        x, t = ht.tensor([[1.0, 2.0], [0.5, 0.5]]), ht.tensor([1, 0])
        for loss, expected in ((nn.CrossEntropyLoss(), F.cross_entropy(x, t)),
                               (nn.CrossEntropyLoss(weight=ht.tensor([1.0, 3.0]), reduction="sum"),
                                F.cross_entropy(x, t, weight=ht.tensor([1.0, 3.0]), reduction="sum")),
                               (nn.NLLLoss(), F.nll_loss(x, t))):
            self.assertEqual(loss(x, t).item(), expected.item())
        for loss in (nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(beta=0.5), nn.HuberLoss(delta=0.5),
                     nn.BCEWithLogitsLoss()):
            self.assertGreater(loss(x, x * 0).item(), 0.0)
        images = ones(2, 3, 4, 4)
        self.assertAlmostEqual(F.cross_entropy(images, ht.tensor([[[0] * 4] * 4] * 2)).item(), 1.0986123, 5)

    def test_losses_have_the_values_of_their_formulas(self):
        x, y = ht.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, 0.6]]), ht.tensor([[0.3, 0.5, 0.8], [0.2, 0.6, 0.1]])
        sign, var = ht.tensor([1.0, -1.0]), y + 0.5
        distance = lambda a, b: ((a - b + 1e-6) ** 2).sum(1).sqrt()  # noqa: E731
        cosine = (x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))
        for found, expected in (
            (nn.BCELoss(weight=var)(x, y), (-(y * x.log() + (1 - y) * (1 - x).log()) * var).mean()),
            (nn.HuberLoss(delta=0.3, reduction="none")(x, y),
             ht.where((x - y).abs() < 0.3, (x - y) ** 2 / 2, 0.3 * ((x - y).abs() - 0.15))),
            (nn.KLDivLoss(reduction="batchmean")(x, y), (y * (y.log() - x)).sum() / 2),
            (nn.GaussianNLLLoss(reduction="sum")(x, y, var), ((var.log() + (x - y) ** 2 / var) / 2).sum()),
            (F.gaussian_nll_loss(x, y, 0.5), ((0.5 * ht.ones(1)).log() + (x - y) ** 2 / 0.5).mean() / 2),
            (nn.MarginRankingLoss(0.1)(x[:, 0], y[:, 0], sign), ht.relu(0.1 - sign * (x - y)[:, 0]).mean()),
            (nn.CosineEmbeddingLoss(0.2)(x, y, sign), ht.stack([1 - cosine[0], cosine[1] - 0.2]).mean()),
            (nn.TripletMarginLoss()(x, y, 1 - x), ht.relu(distance(x, y) - distance(x, 1 - x) + 1).mean()),
            (nn.PairwiseDistance(keepdim=True)(x, y), distance(x, y).unsqueeze(1)),
            (nn.CosineSimilarity()(x, y), cosine), (F.normalize(x), x / x.norm(dim=1, keepdim=True)),
            # The norm is that of the vectors after they were repeated.
            (F.cosine_similarity(x, ht.tensor([[0.5]])), x.sum(1) / (x.norm(dim=1) * 3**0.5)),
        ):
            self.assertTrue(found.allclose(expected, atol=1e-6), (found.tolist(), expected.tolist()))

    def test_ctc_adds_up_all_alignments(self):
        x = ht.tensor([[[0.1, 0.6, 0.3]] * 2, [[0.5, 0.2, 0.3]] * 2])
        # Class 1 has the alignments 1 1, 1 blank and blank 1. Classes 1 and 2 have one alignment.
        expected = [-math.log(0.6 * 0.2 + 0.6 * 0.5 + 0.1 * 0.2), -math.log(0.6 * 0.3)]
        padded, joined = ht.tensor([[1, 0], [1, 2]]), ht.tensor([1, 1, 2])
        for targets, lengths in ((padded, ht.tensor([1, 2])), (padded, [1, 2]), (joined, (1, 2))):
            found = F.ctc_loss(x.log(), targets, [2, 2], lengths, reduction="none")
            self.assertTrue(found.allclose(ht.tensor(expected)), found.tolist())
        mean = nn.CTCLoss()(x.log(), padded, [2, 2], [1, 2]).item()
        self.assertAlmostEqual(mean, (expected[0] + expected[1] / 2) / 2, 5)
        self.assertAlmostEqual(F.ctc_loss(x[:, 0].log(), ht.tensor([1]), 2, 1).item(), expected[0], 5)
        with self.assertRaisesRegex(ValueError, "ctc_loss: targets has 3 elements, but target_lengths add up to 4"):
            F.ctc_loss(x.log(), joined, [2, 2], [2, 2])

    def test_activations_have_the_values_of_their_formulas(self):
        x = ht.tensor([[-4.0, -1.0], [0.5, 3.0]])
        layer = nn.PReLU(2, init=0.5)
        for found, expected in (
            (F.hardswish(x), x * (x + 3).clamp(0, 6) / 6), (F.mish(x), x * F.softplus(x).tanh()),
            (F.logsigmoid(x), x.sigmoid().log()), (F.selu(x), 1.0507009873554805 * F.elu(x, 1.6732632423543772)),
            (F.glu(x), x[:, :1] * x[:, 1:].sigmoid()), (layer(x), ht.where(x > 0, x, 0.5 * x)),
        ):
            self.assertTrue(found.allclose(expected, atol=1e-6), (found.tolist(), expected.tolist()))
        layer(x).sum().backward()
        self.assertEqual((layer.weight.grad.tolist(), repr(layer)), ([-4.0, -1.0], "PReLU(num_parameters=2)"))

    def test_images_are_moved_padded_and_resampled(self):
        x = ht.arange(16.0).reshape(1, 4, 2, 2)
        shuffled = nn.PixelShuffle(2)(x)
        self.assertEqual(shuffled[0, 0, :2].tolist(), [[0, 4, 1, 5], [8, 12, 9, 13]])
        self.assertTrue(nn.PixelUnshuffle(2)(shuffled).equal(x))
        columns = F.unfold(shuffled, (2, 3), padding=(0, 1), stride=(2, 1))
        self.assertEqual(columns[0, :, 0].tolist(), [0, 0, 4, 0, 8, 12])
        folded = nn.Fold((4, 4), (2, 3), padding=(0, 1), stride=(2, 1))(columns)
        self.assertTrue(folded.equal(shuffled * ht.tensor([2.0, 3.0, 3.0, 2.0])))
        row = ht.tensor([[1.0, 2.0, 3.0]])
        for mode, expected in (("reflect", [3, 2, 1, 2, 3, 2]), ("replicate", [1, 1, 1, 2, 3, 3]),
                               ("circular", [2, 3, 1, 2, 3, 1]), ("constant", [0, 0, 1, 2, 3, 0])):
            self.assertEqual(F.pad(row, (2, 1), mode).tolist(), [expected])
        self.assertEqual((nn.ReplicationPad1d((0, 1))(row).tolist(), nn.CircularPad2d((1, 0, 0, 0))(row).tolist()),
                         ([[1, 2, 3, 3]], [[3, 1, 2, 3]]))
        volume, one = ht.arange(16.0).reshape(1, 1, 2, 2, 4), ones(1, 1, 1, 1, 2)
        self.assertEqual((F.max_pool3d(volume, (2,)).tolist(), F.avg_pool3d(volume, (2, 2, 4)).tolist()),
                         ([[[[[13, 15]]]]], [[[[[7.5]]]]]))
        grown = F.conv_transpose3d(volume, one, stride=(1, 1, 2))
        self.assertEqual(grown[0, 0, 0, 0].tolist(), [0, 0, 1, 1, 2, 2, 3, 3])
        found = F.interpolate(shuffled, scale_factor=0.5, mode="bicubic")
        self.assertTrue(found.equal(F.upsample(shuffled, (2, 2), mode="bicubic", align_corners=False)))
        for matrix, mode, expected in (([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "bilinear", shuffled),
                                       ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], "nearest", shuffled.transpose(2, 3))):
            grid = F.affine_grid(ht.tensor([matrix]), shuffled.shape)
            self.assertTrue(F.grid_sample(shuffled, grid, mode, "border").equal(expected))
        self.assertEqual(F.affine_grid(ht.zeros(1, 3, 4), (1, 1, 2, 1, 5), True).shape, (1, 2, 1, 5, 3))
        self.assertEqual(nn.Upsample(None, 1.6, recompute_scale_factor=True)(shuffled).shape, (1, 1, 6, 6))
        for call, error, text in (
            (lambda: nn.Upsample(scale_factor=1.6)(shuffled), NotImplementedError,
             "scale_factor=1.6 gives no whole size"),
            (lambda: F.pad(row, (1, 1), "mirror"), ValueError, "pad: mode must be 'constant', 'reflect'"),
            (lambda: F.pad(row, (1, 1), "reflect", 2.0), ValueError, "pad: value must be None for mode='reflect'"),
            (lambda: nn.ZeroPad3d((1, 2)), ValueError, "ZeroPad3d: padding must be a number or 6 of them"),
            (lambda: F.affine_grid(ht.zeros(1, 2, 3), (2, 1, 4, 4)), ValueError, "affine_grid: theta"),
            (lambda: F.avg_pool2d(x, 2, divisor_override=3), NotImplementedError, "divisor_override=3 is not"),
        ):
            self.assertRaisesRegex(error, text, call)

    def test_init_fills_and_returns(self):
        weight = nn.Linear(4, 4).weight
        self.assertIs(nn.init.constant_(weight, 2.0), weight)
        self.assertEqual(weight.tolist(), [[2.0] * 4] * 4)
        nn.init.eye_(weight)
        self.assertEqual(weight[1].tolist(), [0.0, 1.0, 0.0, 0.0])
        for fill in (nn.init.normal_, nn.init.uniform_, nn.init.xavier_uniform_, nn.init.xavier_normal_,
                     nn.init.trunc_normal_, nn.init.orthogonal_):
            self.assertNotEqual(fill(nn.init.zeros_(weight)).tolist(), [[0.0] * 4] * 4)
        nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu")
        self.assertAlmostEqual(nn.init.calculate_gain("relu"), 2.0**0.5)


if __name__ == "__main__":
    unittest.main()
