"""States, copies, files, dtypes and moves of modules of Python. Run by CTest."""

import copy
import io
import os
import pickle
import unittest

import halftone as ht
from callbacks import Counted
from halftone import nn
from networks import Net, Scaled, ones, through_file, tiny_gpt


def setUpModule():
    """The devices of a name stay: they are made before objects are counted."""
    ht.Context.default_context().load_plugin(os.environ["DEFERRED_PLUGIN"])
    for name in ("deferred", "deferred:0"):
        ht.zeros(1, device=name)


class OwnNorm(nn.BatchNorm1d):
    def forward(self, x):
        return super().forward(x)


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


if __name__ == "__main__":
    unittest.main()
