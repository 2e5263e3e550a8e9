"""Modules of Python as a person who knows PyTorch writes them. Run by CTest."""

import collections
import copy
import gc
import inspect
import io
import math
import os
import pickle
import unittest

import halftone as ht
import halftone.nn.functional as F
from callbacks import Counted
from halftone import nn


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(width, 8), nn.ReLU())
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(self.features(x))


def ones(*shape):
    return ht.Tensor.full(ht.default_device(), "f32", shape, 1.0)


def setUpModule():
    """The devices of a name stay: they are made before objects are counted."""
    ht.Context.default_context().load_plugin(os.environ["DEFERRED_PLUGIN"])
    for name in ("deferred", "deferred:0"):
        ht.zeros(1, device=name)


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


class OwnNorm(nn.BatchNorm1d):
    def forward(self, x):
        return super().forward(x)


def tiny_gpt():
    return nn.Transformer(vocabulary=8, positions=4, layers=1, width=8, heads=2)


def through_file(module):
    file = io.BytesIO()
    ht.save({"model": module}, file)
    file.seek(0)
    return ht.load(file, weights_only=False)["model"]


class Parts(Counted):
    def test_a_child_is_replaced_and_removed(self):
        net = Net()
        net.fc = nn.Linear(8, 7)
        self.assertEqual(net(ones(3, 4)).shape, (3, 7))
        self.assertEqual([(name, p.shape) for name, p in net.named_parameters()][-1], ("fc.bias", (7,)))
        net.fc = None
        self.assertIsNone(net.fc)
        self.assertEqual([name for name, _ in net.named_parameters()], ["features.0.weight", "features.0.bias"])
        self.assertEqual(net.state_dict().keys(), ["features.0.weight", "features.0.bias"])
        net.fc = nn.Identity()
        self.assertEqual(net(ones(3, 4)).shape, (3, 8))
        del net.fc
        with self.assertRaises(AttributeError):
            net.fc
        net.features[0] = nn.Linear(4, 5)
        self.assertEqual(net.get_submodule("features.0").out_features, 5)
        with self.assertRaisesRegex(TypeError, "Net.features must be a Module or None, got int"):
            net.features = 3

    def test_attributes_hold_the_objects_that_were_set(self):
        net = Net()
        self.assertIs(net.fc, dict(net.named_children())["fc"])
        self.assertIs(net.fc.weight, dict(net.named_parameters())["fc.weight"])
        self.assertIs(net.features[0], net.get_submodule("features.0"))
        self.assertTrue(isinstance(net.fc, nn.Linear) and isinstance(net.fc.weight, (nn.Parameter, ht.Tensor)))
        self.assertEqual((net.fc.in_features, net.fc.out_features), (8, 2))
        self.assertEqual([type(module).__name__ for module in net.modules()],
                         ["Net", "Sequential", "Linear", "ReLU", "Linear"])

    def test_modules_that_the_library_made_have_the_class_of_their_kind(self):
        model = tiny_gpt()
        kinds = {name: type(module).__name__ for name, module in model.named_modules()}
        self.assertEqual((kinds["wte"], kinds["ln_f"], kinds["h.0"]), ("Embedding", "LayerNorm", "TransformerBlock"))
        self.assertEqual(len(list(model.parameters())), model.parameter_count())

    def test_a_parameter_is_a_tensor_in_operations(self):
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(ht.tensor([[1.0, 2.0], [3.0, 4.0]]))
                self.register_parameter("unused", None)

            def forward(self, x):
                return x.matmul(self.w) + F.linear(x, self.w) * 2

        module, x = Scale(), ht.tensor([[1.0, 1.0]])
        module(x).sum().backward()
        self.assertEqual(module.w.grad.tolist(), [[3.0, 3.0], [3.0, 3.0]])
        module.zero_grad()
        self.assertIsNone(module.w.grad)
        module.requires_grad_(False)
        self.assertFalse(module(x).requires_grad or module.w.requires_grad)
        self.assertEqual(module.w.data.tolist(), [[1.0, 2.0], [3.0, 4.0]])

    def test_weights_are_tied_by_setting_one(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.tok = nn.Embedding(6, 4)
                self.head = nn.Linear(4, 6, bias=False)
                self.head.weight = self.tok.weight

            def forward(self, i):
                return self.head(self.tok(i))

        model = Tied()
        self.assertEqual([name for name, _ in model.named_parameters()], ["tok.weight"])
        model(ht.tensor([[1, 2]])).sum().backward()
        self.assertEqual(ht.Parameters.from_module(model).count(), 1)
        with self.assertRaises(ht.ShapeMismatchError):
            model.head.weight = nn.Parameter(ones(2, 2))

    def test_modules_in_a_plain_list_are_refused(self):
        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(2, 2)]

        with self.assertRaisesRegex(TypeError, "Plain.layers is a list with modules .* use nn.ModuleList"):
            Plain()

        class Late(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = []
                self.layers.append(nn.Linear(2, 2))

        for use in (lambda net: list(net.parameters()), lambda net: net.state_dict(),
                    lambda net: ht.Optimizer.adamw(net), lambda net: net(ones(1, 2))):
            with self.assertRaisesRegex(TypeError, "Late.layers"):
                use(Late())
        net = Net()
        net.all = [net.fc, net.features]  # parts already
        self.assertEqual(len(list(net.parameters())), 4)

    def test_buffers_are_state_that_moves_with_the_module(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", ht.tensor([0.0]))
                self.register_buffer("mask", ht.tensor([1.0]), persistent=False)

            def forward(self, x):
                self.seen = self.seen + 1
                return x * self.mask

        model = Counting()
        model(ones(1))
        self.assertEqual((model.seen.tolist(), model.state_dict().keys()), ([1.0], ["seen"]))
        self.assertEqual([name for name, _ in model.named_buffers()], ["seen", "mask"])
        self.assertEqual(str(model.half().mask.dtype), "f16")
        with self.assertRaisesRegex(KeyError, "exists already"):
            model.register_buffer("forward", ones(1))
        with self.assertRaisesRegex(TypeError, "register_buffer: tensor must be a Tensor or None, got int"):
            model.register_buffer("other", 1)

    def test_names_of_the_library_are_free_for_attributes(self):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.kind, self.child, self.copy = nn.Linear(2, 2), "mine", nn.ReLU(), 3

            def forward(self, x):
                return self.child(self.linear(x))

        named = Named()
        named(ones(1, 2))
        self.assertEqual((named.kind, named.copy, len(list(named.children()))), ("mine", 3, 2))


class Calls(Counted):
    def test_forward_takes_and_returns_anything(self):
        class Any(nn.Module):
            def forward(self, x, mask=None, *, flag=False, pair=(), table=None):
                total = x if mask is None else x * mask
                for item in pair:
                    total = total + item
                if table is not None:
                    table["seen"] = True
                    total = total + table["bias"]
                return {"logits": -total if flag else total, "rest": [x, 3], "name": "n"}

        model, x, table = Any(), ht.tensor([1.0]), {"bias": ht.tensor([10.0])}
        found = model(x, flag=True, pair=[x, x], table=table)
        self.assertEqual((found["logits"].tolist(), found["rest"][1], found["name"]), ([-13.0], 3, "n"))
        self.assertTrue(table["seen"])
        self.assertEqual(model(x=x)["logits"].tolist(), [1.0])
        self.assertEqual(model(x, None)["logits"].tolist(), [1.0])
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'flags'"):
            model(x, flags=True)

    def test_forward_may_need_no_tensor_and_return_none(self):
        class Bare(nn.Module):
            def forward(self, count):
                return count if count else None

        self.assertEqual((Bare()(2), Bare()(0)), (2, None))
        with self.assertRaisesRegex(TypeError, "Tuple.forward returned a tuple; a module of the library"):
            nn.Sequential(Tuple())(ones(1))

    def test_a_module_without_forward_says_so(self):
        class Empty(nn.Module):
            pass

        with self.assertRaisesRegex(NotImplementedError, "Empty has no forward"):
            Empty()(ones(1))

    def test_keywords_survive_recomputation(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)

            def forward(self, x, sign=1, extra=None):
                return sign * F.gelu(self.fc(x)) + (0 if extra is None else extra["bias"])

        def gradient(recompute):
            model.zero_grad()
            model.set_recompute(recompute)
            model(x, sign=-3, extra={"bias": x}).sum().backward()
            return model.fc.weight.grad.tolist()

        model, x = Block(), ht.tensor([[1.0, 2.0]])
        self.assertEqual(gradient(True), gradient(False))

    def test_hooks_see_arguments_and_outputs(self):
        net, seen = Net(), []
        with net.register_forward_pre_hook(lambda module, args: seen.append((module, len(args)))), \
                net.register_forward_hook(lambda module, args, output: output * 0):
            self.assertEqual(net(ones(1, 4)).tolist(), [[0.0, 0.0]])
        self.assertEqual(seen, [(net, 1)])
        hook = net.fc.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        net(ones(1, 4))
        hook.remove()
        net(ones(1, 4))
        self.assertEqual(seen[1:], [(1, 2)])
        with net.register_forward_pre_hook(lambda module, args: args[0] * 0):
            self.assertEqual(net(ones(1, 4)).tolist(), net(ones(1, 4) * 0).tolist())
        hook = seen = net = None

    def test_hooks_see_and_replace_keywords(self):
        class Scaling(nn.Module):
            def forward(self, x, *, scale=1.0):
                return x * scale

        module, seen = Scaling(), []
        with module.register_forward_pre_hook(lambda module, args, kwargs: (args, {"scale": kwargs["scale"] * 2}),
                                              with_kwargs=True), \
                module.register_forward_hook(lambda module, args, kwargs, output: seen.append(kwargs),
                                             with_kwargs=True):
            self.assertEqual(module(ht.tensor([3.0]), scale=4.0).tolist(), [24.0])
        self.assertEqual(seen, [{"scale": 8.0}])
        with self.assertRaisesRegex(NotImplementedError, "register_forward_hook: always_call=True is not supported"):
            module.register_forward_hook(len, always_call=True)

    def test_backward_hooks_see_and_replace_gradients(self):
        model, seen = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False)), []
        note = lambda module, grad_input, grad_output: seen.append((module, grad_input, grad_output))  # noqa: E731
        hooks = [model[0].register_full_backward_hook(note), model[2].register_full_backward_hook(note)]
        nn.init.constant_(model[2].weight, 3.0)
        x = ones(1, 2)
        model(x).sum().backward()
        self.assertEqual([(module, len(given), len(got)) for module, given, got in seen],
                         [(model[2], 1, 1), (model[0], 1, 1)])
        self.assertEqual((seen[0][1][0].tolist(), seen[0][2][0].tolist()), ([[3.0] * 3], [[1.0]]))
        self.assertEqual(seen[1][1], (None,))
        for hook in hooks:
            hook.remove()
        seen.clear()
        x.requires_grad = True
        model(x).sum().backward()
        once = x.grad.tolist()
        x.grad = None
        with model.register_full_backward_hook(lambda module, given, got: (given[0] * 2,)), \
                model.register_full_backward_pre_hook(lambda module, got: (got[0] * 4,)):
            model(x).sum().backward()
        self.assertEqual((x.grad / ht.tensor(once)).tolist(), [[8.0, 8.0]])
        self.assertEqual(seen, [])
        with self.assertRaisesRegex(TypeError, "returned 2 gradients in place of grad_input, expected 1"), \
                model.register_full_backward_hook(lambda module, given, got: (None, None)):
            model(x).sum().backward()

    def test_a_backward_hook_sees_the_gradient_of_its_call_alone(self):
        class Twice(nn.Module):
            def forward(self, x, count, *, scale):
                return x * scale, x

        twice, x, seen = Twice(), ht.tensor([1.0]), []
        x.requires_grad = True
        twice.register_full_backward_hook(lambda module, given, got: seen.append((given, got)))
        y, same = twice(x, 7, scale=3.0)
        (y + same * 2 + x * 100).sum().backward()
        (given, got), = seen
        self.assertEqual((given[0].tolist(), given[1], [item.tolist() for item in got]), ([5.0], None, [[1.0], [2.0]]))
        self.assertEqual(x.grad.tolist(), [105.0])

    def test_a_layer_that_is_derived_has_its_own_forward(self):
        layer = Scaled(2, 3)
        self.assertEqual([name for name, _ in layer.named_parameters()], ["weight", "bias"])
        expected = (F.linear(ones(1, 2), layer.weight, layer.bias) * 2).tolist()
        self.assertEqual(nn.Sequential(layer)(ones(1, 2)).tolist(), expected)

        class Off(nn.Dropout):
            def forward(self, x):
                return super().forward(x)

        off = Off(0.5)
        self.assertIn(0.0, off(ones(100)).tolist())
        self.assertNotIn(0.0, off.eval()(ones(100)).tolist())

    def test_recurrent_layers_have_pytorch_s_shapes(self):
        x = ones(5, 2, 3)  # time, batch, features
        output, (h, c) = nn.LSTM(3, 4, num_layers=2)(x)
        self.assertEqual((output.shape, h.shape, c.shape), ((5, 2, 4), (2, 2, 4), (2, 2, 4)))
        gru = nn.GRU(3, 4, batch_first=True)
        output, h = gru(x, ones(1, 5, 4))
        self.assertEqual((output.shape, h.shape), ((5, 2, 4), (1, 5, 4)))
        class Own(nn.LSTM):
            def forward(self, x):
                return super().forward(x)

        lstm, own = nn.LSTM(3, 4), Own(3, 4)
        own.load_state_dict(lstm.state_dict())
        self.assertEqual(own(x)[0].tolist(), lstm(x)[0].tolist())
        with self.assertRaisesRegex(TypeError, "LSTM: hx must be 2 tensors, got 1"):
            nn.LSTM(3, 4)(x, ones(1, 2, 4))


class Tuple(nn.Module):
    def forward(self, x):
        return x, x


class Containers(Counted):
    def test_sequential_is_a_list_of_modules(self):
        model = nn.Sequential([nn.Linear(4, 4), nn.ReLU()])
        model.append(nn.Linear(4, 2)).insert(1, nn.Dropout())
        self.assertEqual([type(item).__name__ for item in model], ["Linear", "Dropout", "ReLU", "Linear"])
        self.assertEqual((len(model), len(model[1:3]), type(model[-1])), (4, 2, nn.Linear))
        self.assertIs(model[0], model[:2][0])
        del model[1]
        self.assertEqual(model.state_dict().keys(), ["0.weight", "0.bias", "2.weight", "2.bias"])
        self.assertEqual(model(ones(1, 4)).shape, (1, 2))
        named = nn.Sequential(collections.OrderedDict(fc=nn.Linear(2, 2), act=nn.ReLU()))
        self.assertEqual(named.state_dict().keys(), ["fc.weight", "fc.bias"])
        self.assertIs(named.fc, named[0])
        for index, error in ((9, IndexError), ("a", TypeError)):
            with self.assertRaisesRegex(error, "Sequential: "):
                model[index]
        with self.assertRaisesRegex(TypeError, "Sequential: a part must be a Module, got int"):
            nn.Sequential(3)

    def test_lists_and_dictionaries_of_parts_train(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
                self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 3)})
                self.scales = nn.ParameterList([nn.Parameter(ones(2))])

            def forward(self, x, head):
                for layer in self.layers:
                    x = layer(x) * self.scales[0]
                return self.heads[head](x)

        model = Model()
        self.assertEqual(model(ones(1, 2), "b").shape, (1, 3))
        names = [name for name, _ in model.named_parameters()]
        self.assertEqual(names[:2] + names[-1:], ["layers.0.weight", "layers.0.bias", "scales.0"])
        self.assertEqual((len(names), list(model.heads.keys()), "a" in model.heads), (11, ["a", "b"], True))
        model.layers.insert(0, nn.Linear(2, 2))
        del model.heads["a"]
        self.assertEqual(len(list(model.parameters())), 11)


class States(Counted):
    def test_load_as_pytorch_does(self):
        first, second = Net(), Net()
        self.assertEqual(repr(second.load_state_dict(first.state_dict())), "<All keys matched successfully>")
        self.assertEqual(second(ones(1, 4)).tolist(), first(ones(1, 4)).tolist())
        state = {name: value for name, value in first.state_dict().items() if not name.startswith("fc")}
        state["other"] = ones(1)
        with self.assertRaises(ht.HalftoneException):
            second.load_state_dict(state)
        found = second.load_state_dict(state, strict=False)
        self.assertEqual((found.missing_keys, found.unexpected_keys), (["fc.weight", "fc.bias"], ["other"]))
        state = first.state_dict()
        del state["fc.bias"]
        state["fc.weight"] = state.pop("fc.weight") * 2
        self.assertEqual((len(state), "fc.bias" in state), (3, False))
        with self.assertRaisesRegex(TypeError, "load_state_dict: state_dict must be a StateDict or a dictionary, got int"):
            second.load_state_dict(3)

    def test_copies_and_files_have_every_part(self):
        class Mixed(Net):
            def __init__(self):
                super().__init__()
                self.norm, self.head = nn.BatchNorm1d(2), Scaled(2, 2)
                self.again = self.head
                self.extra = nn.Sequential({"gpt": tiny_gpt(), "drop": nn.Dropout(0.25)})
                self.register_buffer("seen", ones(1), persistent=False)
                self.register_parameter("none", None)
                self.note = {"kept": [1, "two"]}

            def forward(self, x):
                return self.head(self.norm(super().forward(x)))

        globals()["Mixed"] = Mixed
        Mixed.__qualname__ = "Mixed"
        net, x = Mixed(), ht.randn(3, 4)
        net(x)
        net.features.eval()
        net.extra.drop.eval()
        net.fc.weight.requires_grad = False
        draws = dict(ht.Context.default_context().generator_state())
        for way in (copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module)), through_file):
            other = way(net)
            self.assertEqual(dict(ht.Context.default_context().generator_state()), draws)
            self.assertEqual([module.training for module in other.modules()],
                             [module.training for module in net.modules()])
            self.assertEqual(repr(other), repr(net))
            self.assertEqual({name: value.tolist() for name, value in other.state_dict().items()},
                             {name: value.tolist() for name, value in net.state_dict().items()})
            self.assertEqual((other.note, other.none, other.seen.tolist()), (net.note, None, [1.0]))
            self.assertEqual((other.again is other.head, other.fc.weight.requires_grad), (True, False))
            self.assertEqual(other(x).tolist(), net(x).tolist())
            tokens = ht.tensor([[1, 2]])
            self.assertEqual(other.extra.gpt(tokens).tolist(), net.extra.gpt(tokens).tolist())
            nn.init.zeros_(other.fc.weight)
            self.assertNotEqual(net.fc.weight.tolist(), other.fc.weight.tolist())
        del globals()["Mixed"]

    def test_a_file_makes_no_class_of_a_program_by_itself(self):
        file = io.BytesIO()
        ht.save(Net(), file)
        file.seek(0)
        with self.assertRaisesRegex(ValueError, r"the class \w+.Net; if you trust the file, weights_only=False"):
            ht.load(file)
        raw = ht.Module.linear(ht.default_device(), 2, 2)
        with self.assertRaisesRegex(TypeError, "pickle: a Module that the library made"):
            pickle.dumps(raw)
        self.assertEqual(copy.deepcopy(raw)(ones(1, 2)).tolist(), raw(ones(1, 2)).tolist())

    def test_dtypes_change_in_place(self):
        net = Net()
        weight = net.fc.weight
        self.assertIs(net.to(dtype="bf16"), net)
        self.assertIs(net.fc.weight, weight)
        self.assertEqual(str(weight.dtype), "bf16")
        self.assertEqual(str(net(ones(1, 4).to("bf16")).dtype), "bf16")
        self.assertEqual(str(net.float().fc.weight.dtype), "f32")
        self.assertIs(net.to("cpu").to(ht.default_device()), net)

    def test_buffers_move_with_their_module(self):
        class Norms(nn.Module):
            def __init__(self):
                super().__init__()
                self.inside, self.own = nn.Sequential(nn.BatchNorm1d(2)), OwnNorm(2)
                self.register_buffer("shift", ones(2))

            def forward(self, x):
                return self.own(self.inside(x)) + self.shift

        net, x = Norms(), ht.tensor([[1.0, 2.0], [3.0, 5.0]])
        net(x)
        expected = net.eval()(x).tolist()
        net.to("deferred")
        self.assertEqual({value.device.name for value in net.state_dict().values()}, {"deferred:0"})
        self.assertEqual(net(x.to("deferred")).tolist(), expected)
        net.train()(x.to("deferred"))
        self.assertNotEqual(net.cpu().eval()(x).tolist(), expected)
        net.inside[0].to("deferred")
        self.assertEqual(net.state_dict()["inside.0.running_mean"].device.name, "deferred:0")
        file = io.BytesIO()
        ht.save(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to("deferred"), file)
        file.seek(0)
        self.assertEqual({value.device.name for value in ht.load(file).state_dict().values()}, {"cpu"})
        self.assertEqual({value.device.name for value in copy.deepcopy(net).state_dict().values()},
                         {value.device.name for value in net.state_dict().values()})
        net.own.register_forward_hook(lambda module, args, output: None)
        with self.assertRaisesRegex(NotImplementedError, "OwnNorm: device cannot change while hooks are on the layer"):
            net.to("deferred")

    def test_a_setting_of_a_layer_changes(self):
        net = nn.Sequential(nn.BatchNorm1d(1), nn.Dropout(0.0))
        net[0].momentum, net[1].p = 1.0, 1.0
        self.assertEqual(net(ht.tensor([[1.0], [3.0]])).tolist(), [[0.0], [0.0]])
        self.assertEqual((net[0].running_mean.tolist(), net[0].momentum), ([2.0], 1.0))
        self.assertIn("p=1.0", repr(net))
        with self.assertRaises(ht.ShapeMismatchError):
            net[0].num_features = 3

    def test_modes_and_walks(self):
        class Frozen(nn.BatchNorm1d):
            def train(self, mode=True):
                return super().train(False)

        model = nn.Sequential(nn.Linear(2, 2), Frozen(2)).train()
        self.assertEqual([module.training for module in model.modules()], [True, True, False])
        met = []
        model.apply(met.append)
        self.assertEqual([type(module).__name__ for module in met], ["Linear", "Frozen", "Sequential"])

    def test_print_has_pytorch_s_shape(self):
        self.assertEqual(repr(Net()), """Net(
  (features): Sequential(
    (0): Linear(in_features=4, out_features=8, bias=True)
    (1): ReLU()
  )
  (fc): Linear(in_features=8, out_features=2, bias=True)
)""")
        self.assertEqual(repr(nn.Conv2d(1, 8, 3, padding=1, bias=False)),
                         "Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)")


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
        self.assertEqual(nn.Upsample(None, 1.6, recompute_scale_factor=True)(shuffled).shape, (1, 1, 6, 6))
        for call, error, text in (
            (lambda: nn.Upsample(scale_factor=1.6)(shuffled), NotImplementedError,
             "scale_factor=1.6 gives no whole size"),
            (lambda: F.pad(row, (1, 1), "mirror"), ValueError, "pad: mode must be 'constant', 'reflect'"),
            (lambda: F.pad(row, (1, 1), "reflect", 2.0), ValueError, "pad: value must be None for mode='reflect'"),
            (lambda: nn.ZeroPad3d((1, 2)), ValueError, "ZeroPad3d: padding must be a number or 6 of them"),
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


class Lifetimes(Counted):
    def test_models_leave_no_handles(self):
        def use():
            net = Net()
            net.fc = nn.Linear(8, 3)
            net.register_forward_hook(lambda module, args, output: None)
            net.features[0].register_forward_hook(lambda module, args, output: None)
            net(ones(2, 4)).sum().backward()
            copy.deepcopy(net)
            return [p.grad.shape for p in net.parameters()]

        use()
        gc.collect()
        before = ht.live_handles()
        for _ in range(3):
            use()
        gc.collect()
        self.assertEqual(ht.live_handles(), before)

    def test_parameters_outlive_a_scope(self):
        net = Net()
        for _ in range(3):
            with ht.scope():
                loss = (net(ones(1, 4)) + net.fc.bias).sum()
                loss.backward()
        self.assertEqual(net.fc.bias.grad.shape, (2,))


if __name__ == "__main__":
    unittest.main()
