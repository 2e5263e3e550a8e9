"""Optimizers, schedules and the gradient scaler with PyTorch's names. Run by CTest."""

import copy
import io
import math
import pickle
import unittest
import warnings

import halftone as ht
from callbacks import Counted
from halftone import amp, nn, optim
from halftone.optim import lr_scheduler


def ones(*shape):
    return ht.Tensor.full(ht.default_device(), "f32", shape, 1.0)


def model():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


def through_file(state):
    file = io.BytesIO()
    ht.save({"optimizer": state, "epoch": 3}, file)
    file.seek(0)
    return ht.load(file)["optimizer"]


class Optimizers(Counted):
    def test_train_by_each_rule(self):
        for make in (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda p: optim.Adam(p, betas=(0.8, 0.9)),
                     lambda p: optim.AdamW(p, 1e-2, eps=1e-7), optim.RMSprop, optim.Adafactor, optim.Lion):
            net = model()
            optimizer = make(net.parameters())
            with self.subTest(type(optimizer).__name__):
                before = net[2].bias.tolist()
                net(ones(4, 2)).sum().backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                self.assertNotEqual(net[2].bias.tolist(), before)
                self.assertEqual((optimizer.step_count, net[0].weight.grad), (1, None))

    def test_groups_are_dictionaries_of_settings(self):
        net = model()
        optimizer = optim.AdamW([{"params": net[0].parameters(), "lr": 1e-2},
                                 {"params": net[2].weight, "weight_decay": 0.0}], lr=1e-3, betas=(0.9, 0.95))
        first, second = optimizer.param_groups
        self.assertEqual((first["lr"], second["lr"], second["weight_decay"], second["betas"]),
                         (1e-2, 1e-3, 0.0, (0.9, 0.95)))
        self.assertIs(second["params"][0], net[2].weight)
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
        self.assertEqual((optimizer.group_lr(0), optimizer.group_lr(1)), (5e-3, 5e-4))
        second["betas"] = (0.5, 0.6)
        self.assertEqual(optimizer.group(1).beta1, 0.5)
        optimizer.add_param_group({"params": [net[2].bias], "lr": 0.25})
        self.assertEqual(len(optimizer.param_groups), 3)
        self.assertIn("betas: (0.9, 0.95)", repr(optimizer))

    def test_gradients_become_zeros_on_request(self):
        net = model()
        optimizer = optim.SGD(net.parameters(), lr=1.0)
        for zero in (net.zero_grad, optimizer.zero_grad):
            net(ones(1, 2)).sum().backward()
            zero(set_to_none=False)
            self.assertEqual(net[2].bias.grad.tolist(), [0.0])
        net[0].weight.grad = None
        zero(set_to_none=False)
        self.assertIsNone(net[0].weight.grad)

    def test_a_closure_records_inside_of_no_grad(self):
        net = model()
        optimizer = optim.SGD(net.parameters(), lr=1.0)

        def closure():
            optimizer.zero_grad()
            loss = net(ones(1, 2)).sum()
            loss.backward()
            return loss

        before = net[2].bias.item()
        with ht.no_grad():
            optimizer.step(closure)
        self.assertAlmostEqual(net[2].bias.item(), before - 1.0, 6)

    def test_a_replaced_layer_trains_after_its_group_is_added(self):
        net = model()
        optimizer = optim.SGD(net.parameters(), lr=1.0)
        net[2] = nn.Linear(3, 1)
        net(ones(1, 2)).sum().backward()
        before = net[2].bias.tolist()
        optimizer.step()
        self.assertEqual(net[2].bias.tolist(), before)
        optimizer.add_param_group({"params": net[2].parameters()})
        optimizer.step()
        self.assertAlmostEqual(net[2].bias.item(), before[0] - 1.0, 6)

    def test_a_frozen_parameter_waits(self):
        net = model()
        net[0].requires_grad_(False)
        optimizer = optim.SGD(net.parameters(), lr=1.0)
        kept = net[0].weight.tolist()
        net(ones(1, 2)).sum().backward()
        optimizer.step()
        self.assertEqual(net[0].weight.tolist(), kept)
        self.assertFalse(net[0].weight.requires_grad)

    def test_a_state_goes_on_under_the_names_of_the_parameters(self):
        def train(net, optimizer):
            optimizer.zero_grad()
            (net(ones(2, 2)) ** 2).mean().backward()
            optimizer.step()

        first, others = model(), []
        one = optim.Adam(first.parameters(), lr=0.1)
        train(first, one)
        state = one.state_dict()
        self.assertTrue(any("2.weight" in name for name in state.keys()), state.keys())
        ways = copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item)), through_file
        for net, saved in [(copy.deepcopy(first), way(state)) for way in ways]:
            other = optim.Adam(net.named_parameters(), lr=0.5)
            other.load_state_dict(saved)
            self.assertEqual((other.param_groups[0]["lr"], other.step_count), (0.1, 1))
            train(net, other)
            others.append(net[0].weight.tolist())
        train(first, one)
        self.assertEqual(others, [first[0].weight.tolist()] * 3)
        with self.assertRaisesRegex(TypeError, r"Adam cannot be copied or pickled; copy or save its state_dict\(\)"):
            copy.deepcopy(one)

    def test_low_precision_settings_move_the_leaf_of_a_parameter(self):
        layer = nn.Linear(4, 4)
        weight = layer.weight
        layer(ones(1, 4))
        optimizer = optim.AdamW(layer.parameters(), lr=0.1, compute_dtype="bf16", master_storage="split")
        (weight.float() if hasattr(weight, "float") else weight.to("f32")).sum().backward()
        self.assertIsNotNone(weight.grad)
        optimizer.step()
        self.assertEqual(str(weight.detach().dtype), "bf16")
        whole = layer.state_dict()["weight"].tolist()
        self.assertNotEqual(whole, weight.detach().tolist())
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), through_file(layer)):
            self.assertEqual((str(other.weight.dtype), other.weight.tolist()), ("f32", whole))

    def test_wrong_arguments_say_what_is_taken(self):
        net = model()
        for make, error, text in (
                (lambda: optim.SGD([]), ValueError, "SGD: params is empty"),
                (lambda: optim.SGD([3]), TypeError, "SGD: params must be Parameters, got int"),
                (lambda: optim.SGD([ones(2)]), TypeError, "got Tensor; make it an nn.Parameter"),
                (lambda: optim.Adam(net.parameters(), differentiable=True), NotImplementedError, "differentiable"),
                (lambda: optim.Adam(net.parameters(), amsgrad=True), NotImplementedError, "Adam: amsgrad=True"),
                (lambda: optim.Adam(net.parameters(), learning_rate=1), TypeError, "'learning_rate' is no setting; known"),
                (lambda: optim.Adam([{"parameters": 1}]), ValueError, "a group must have 'params', got 'parameters'"),
                (lambda: optim.Optimizer(net.parameters()), TypeError, "optim.AdamW")):
            with self.assertRaisesRegex(error, text):
                make()


class Clipping(Counted):
    def test_vectors_have_all_parameters(self):
        net = model()
        vector = nn.utils.parameters_to_vector(net.parameters())
        nn.utils.vector_to_parameters(vector * 2, net.parameters())
        self.assertEqual(nn.utils.parameters_to_vector(net.parameters()).tolist(), (vector * 2).tolist())
        with self.assertRaisesRegex(ValueError, r"vec has shape \[2\], expected \[13\]"):
            nn.utils.vector_to_parameters(ones(2), net.parameters())

    def test_limits_the_norm_and_returns_it(self):
        layer = nn.Linear(2, 1, bias=False)
        (layer(ht.tensor([[3.0, 4.0]])) * 2).sum().backward()
        self.assertAlmostEqual(nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item(), 10.0, 5)
        self.assertAlmostEqual(layer.weight.grad.tolist()[0][1], 0.8, 5)

    def test_with_an_optimizer_the_step_is_limited(self):
        layer = nn.Linear(2, 1, bias=False)
        nn.init.zeros_(layer.weight)
        optimizer = optim.SGD(layer.parameters(), lr=1.0)
        layer(ht.tensor([[3.0, 4.0]])).sum().backward()
        self.assertAlmostEqual(nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item(), 5.0, 5)
        optimizer.step()
        self.assertAlmostEqual(layer.weight.tolist()[0][0], -0.6, 5)

    def test_after_unscale_the_unscaled_gradients_count(self):
        layer = nn.Linear(2, 1, bias=False)
        nn.init.zeros_(layer.weight)
        optimizer, scaler = optim.SGD(layer.parameters(), lr=1.0), amp.GradScaler("cpu", init_scale=1024.0)
        scaler.scale(layer(ht.tensor([[3.0, 4.0]])).sum()).backward()
        scaler.unscale_(optimizer)
        self.assertAlmostEqual(nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item(), 5.0, 5)
        with self.assertRaisesRegex(NotImplementedError, "unscale_"):
            nn.utils.clip_grad_norm_(layer.parameters(), 1.0, norm_type=1.0)
        scaler.step(optimizer)
        scaler.update()
        self.assertAlmostEqual(layer.weight.tolist()[0][1], -0.8, 5)


class Scalers(Counted):
    def test_have_pytorch_s_names_and_refuse_a_wrong_order(self):
        layer = nn.Linear(1, 1)
        optimizer = optim.SGD(layer.parameters(), lr=0.1)
        scaler = amp.GradScaler(init_scale=4.0, growth_interval=1)
        with amp.autocast("cpu", dtype="bf16"):
            loss = layer(ones(1, 1)).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        with self.assertRaises(ht.HalftoneException):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        with self.assertRaises(ht.HalftoneException):
            scaler.step(optimizer)
        scaler.update()
        self.assertEqual((scaler.get_scale(), scaler.is_enabled()), (8.0, True))
        other = amp.GradScaler()
        other.load_state_dict(scaler.state_dict())
        self.assertEqual(other.get_scale(), 8.0)
        off = amp.GradScaler(enabled=False)
        self.assertEqual((off.get_scale(), off.state_dict()), (1.0, {}))

    def test_autocast_takes_a_device_or_a_dtype(self):
        layer, x = nn.Linear(2, 2), ones(1, 2)

        @ht.autocast("bf16")
        def run():
            return layer(x)

        for found, dtype in ((run(), "bf16"), (self.inside(ht.autocast("cpu"), layer, x), "bf16"),
                             (self.inside(ht.autocast("cpu", dtype="f16"), layer, x), "f16"),
                             (self.inside(ht.autocast("cpu", enabled=False), layer, x), "f32")):
            self.assertEqual(str(found.dtype), dtype)
        with self.assertRaisesRegex(ValueError, "device_type must be"):
            ht.autocast("tpu", dtype="bf16")

    def inside(self, scope, layer, x):
        with scope:
            return layer(x)


class Schedules(Counted):
    def rates(self, make, steps=8):
        optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler, found = make(optimizer), []
            for _ in range(steps):
                found.append(optimizer.param_groups[0]["lr"])
                scheduler.step()
        return found

    def test_follow_their_formulas(self):
        near = [(lambda o: lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
                (lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.1), [1, 0.1, 0.1, 0.01, 0.01]),
                (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125]),
                (lambda o: lr_scheduler.LinearLR(o, 0.5, total_iters=2), [0.5, 0.75, 1, 1]),
                (lambda o: lr_scheduler.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1]),
                (lambda o: lr_scheduler.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0, 0]),
                (lambda o: lr_scheduler.CosineAnnealingLR(o, 4), [1, (1 + math.sqrt(0.5)) / 2, 0.5]),
                (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2), [1, 0.5, 1, 0.5]),
                (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)), [1, 1 / 2, 1 / 3]),
                (lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 9),
                                                         lr_scheduler.ExponentialLR(o, 0.5)], [2]),
                 [0.1, 0.1, 1, 0.5])]
        for make, expected in near:
            for found, wanted in zip(self.rates(make), expected):
                self.assertAlmostEqual(found, wanted, 6)

    def test_one_cycle_rises_and_falls(self):
        found = self.rates(lambda o: lr_scheduler.OneCycleLR(o, 2.0, total_steps=8, pct_start=0.5))
        self.assertAlmostEqual(found[0], 2.0 / 25)
        self.assertAlmostEqual(max(found), 2.0)
        self.assertAlmostEqual(found[-1], 2.0 / 25e4, 5)

    def test_a_plateau_lowers_the_rate(self):
        optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
        for loss in (3.0, 2.0, 2.0, 2.0, 2.0):
            scheduler.step(loss)
        self.assertEqual(scheduler.get_last_lr(), [0.5])

    def test_a_step_before_the_optimizer_s_is_told(self):
        optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
        with self.assertWarnsRegex(UserWarning, "before optimizer.step"):
            lr_scheduler.StepLR(optimizer, 1).step()

    def test_a_state_goes_on(self):
        optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
        first, second = (lr_scheduler.ExponentialLR(optimizer, 0.5) for _ in range(2))
        second.load_state_dict({**first.state_dict(), "last_epoch": 3})
        self.assertEqual(second.get_last_lr(), [0.125])


if __name__ == "__main__":
    unittest.main()
