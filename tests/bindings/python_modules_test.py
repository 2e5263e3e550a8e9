"""Modules of Python as a person who knows PyTorch writes them: parts, calls, containers. Run by CTest."""

import collections
import copy
import gc
import unittest

import halftone as ht
import halftone.nn.functional as F
from callbacks import Counted
from halftone import nn
from networks import Net, Scaled, ones, tiny_gpt


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
