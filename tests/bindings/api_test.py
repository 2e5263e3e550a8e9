"""The Python binding of the whole C API: arguments, results, operators, exceptions and documentation. Run by CTest."""

import inspect
import os
import tempfile
import threading
import unittest

import halftone as ht
from halftone import nn


class Arguments(unittest.TestCase):
    def test_settings_are_keywords_with_the_defaults_of_the_header(self):
        parameters = inspect.signature(ht.Optimizer.adamw).parameters
        self.assertEqual((parameters["lr"].default, parameters["weight_decay"].default), (1e-3, 0.01))
        self.assertEqual(inspect.signature(ht.Optimizer.adam).parameters["weight_decay"].default, 0.0)
        module = nn.Linear(3, 2, bias=False, dtype="bf16")
        self.assertEqual([name for name, _ in module.named_parameters()], ["weight"])
        self.assertEqual(module.parameter(0).dtype, ht.Dtype.BF16)

    def test_an_enumeration_is_given_by_its_member_its_number_or_its_name(self):
        for dtype in (ht.Dtype.BF16, 4, "bf16", "BF16"):
            self.assertIs(ht.tensor([1.0], dtype=dtype).dtype, ht.Dtype.BF16)
        with self.assertRaisesRegex(ValueError, "'f17' is no Dtype; known are 'f64', 'f32'"):
            ht.tensor([1.0], dtype="f17")

    def test_none_is_an_absent_object(self):
        x, weight = ht.tensor([[1.0, 2.0]]), ht.tensor([[3.0, 4.0]])
        self.assertEqual(ht.linear(x, weight).tolist(), [[11.0]])
        self.assertEqual(ht.linear(x, weight, None).tolist(), ht.linear(x, weight, bias=None).tolist())

    def test_arrays_are_sequences(self):
        x = ht.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(ht.cat([x, x], 0).shape, (4, 2))
        self.assertEqual(x.sum(0).tolist(), [4.0, 6.0])
        self.assertEqual(x.sum(dim=(0, 1), keepdim=True).tolist(), [[10.0]])
        with self.assertRaises(TypeError):
            ht.cat([x, 3], 0)
        with self.assertRaises(TypeError):
            ht.cat(x.sum, 0)

    def test_arrays_that_share_a_length_must_have_one(self):
        x = ht.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(x.roll([1, 1], [0, 1]).tolist(), [[4.0, 3.0], [2.0, 1.0]])
        with self.assertRaisesRegex(ht.InvalidArgumentError, "^roll: shifts has 1 entries, expected 2"):
            x.roll([1], [0, 1])

    def test_numbers_that_have_32_bits_in_c_are_not_cut(self):
        group, x = ht.Group(ht.default_device(), "single"), ht.tensor([1.0])
        with self.assertRaisesRegex(ht.InvalidArgumentError, "peers has 4294967296, which has more than 32 bits"):
            group.batch([1 << 32], [ht.Direction.SEND], [x])
        with self.assertRaisesRegex(ht.InvalidArgumentError, "peers=0 is this rank"):
            group.batch([0], [ht.Direction.SEND], [x])

    def test_bytes_must_fill_the_shape(self):
        with self.assertRaisesRegex(ht.InvalidArgumentError, "data has 7 bytes, expected 8"):
            ht.Tensor.from_bytes(ht.default_device(), "f32", [2], bytes(7))


class Results(unittest.TestCase):
    def test_several_are_a_tuple(self):
        values, indices = ht.tensor([[1.0, 5.0], [7.0, 2.0]]).max_dim(1)
        self.assertEqual((values.tolist(), indices.tolist()), ([5.0, 7.0], [1, 0]))
        self.assertEqual(ht.Sampler(10, 2).position(), (0, 0))

    def test_text_of_any_length_is_a_string(self):
        layers = {f"layer_with_a_long_name_{index}": nn.Linear(2, 2) for index in range(40)}
        text = ht.Module.named_sequential(list(layers), list(layers.values())).summary()
        self.assertGreater(len(text), 1000)
        self.assertEqual(ht.default_device().name, "cpu")

    def test_bytes_are_bytes(self):
        store = ht.Store.memory(ht.Context.default_context())
        store.set("key", b"\0" + bytes(range(200)))
        self.assertEqual(store.get("key", 1.0), b"\0" + bytes(range(200)))

    def test_an_absent_tensor_is_none(self):
        x, unused = ht.tensor([1.0, 2.0]), ht.tensor([3.0])
        x.requires_grad = unused.requires_grad = True
        first, second = ht.gradients([(x * x).sum()], [], [x, unused], allow_unused=True)
        self.assertEqual(first.tolist(), [2.0, 4.0])
        self.assertIsNone(second)

    def test_a_structure_has_fields_and_is_usable_as_keywords(self):
        preset = ht.grad_scaler_options_preset("megatron")
        self.assertEqual((preset.growth_interval, preset.fp32_factors), (1000, True))
        self.assertEqual(ht.GradScaler(ht.default_device(), **preset).current_scale(), preset.initial_scale)
        self.assertIn("growth_interval=1000", repr(preset))
        self.assertEqual(len(ht.default_device().memory_stats().by_category), 8)

    def test_a_changed_structure_changes_the_settings(self):
        optimizer = ht.Optimizer.adamw(nn.Linear(2, 2), lr=0.5)
        settings = optimizer.group(0)
        settings.lr = 0.25
        optimizer.set_group(0, settings)
        self.assertEqual(optimizer.group(0).lr, 0.25)


class Objects(unittest.TestCase):
    def test_say_what_they_are(self):
        module = nn.Linear(2, 3)
        optimizer = ht.Optimizer.adamw(module, lr=0.5)
        self.assertEqual(repr(optimizer), "<Optimizer: lr=0.5, step_count=0>")
        self.assertEqual(repr(module.parameter(0)), "<Parameter: name='weight', shape=(3, 2), dtype=f32>")
        optimizer.close()
        self.assertEqual(repr(optimizer), "<Optimizer: closed>")
        with self.assertRaisesRegex(ht.InvalidHandleError, "the object was closed"):
            optimizer.step()

    def test_refuse_an_attribute_that_they_do_not_have(self):
        x = ht.tensor([1.0])
        with self.assertRaisesRegex(AttributeError, "Tensor has no attribute require_grad; did you mean requires_grad"):
            x.require_grad = True
        with self.assertRaisesRegex(AttributeError, "OptimizerOptions has no attribute learning_rate"):
            ht.OptimizerOptions().learning_rate = 0.5
        x.requires_grad = True
        self.assertTrue(x.requires_grad)

    def test_without_a_constructor_name_their_makers(self):
        with self.assertRaisesRegex(TypeError, "Optimizer: its objects are made by Optimizer.adamw"):
            ht.Optimizer(nn.Linear(2, 2))


class Operators(unittest.TestCase):
    def test_compute_with_tensors_and_numbers(self):
        x = ht.tensor([1.0, 2.0, 4.0])
        cases = [(x + x, [2, 4, 8]), (x + 1, [2, 3, 5]), (1 + x, [2, 3, 5]), (x - 1, [0, 1, 3]), (1 - x, [0, -1, -3]),
                 (x * x, [1, 4, 16]), (2 * x, [2, 4, 8]), (x / 2, [0.5, 1, 2]), (4 / x, [4, 2, 1]), (x**2, [1, 4, 16]),
                 (-x, [-1, -2, -4]), (abs(-x), [1, 2, 4]), (x - x, [0, 0, 0]), (x / x, [1, 1, 1])]
        for result, expected in cases:
            self.assertEqual(result.tolist(), expected)
        self.assertEqual((x.unsqueeze(0) @ x.unsqueeze(1)).tolist(), [[21.0]])

    def test_keep_integers_with_a_number_on_either_side(self):
        x = ht.tensor([16777217, 3])  # FP32 has no 16777217
        for result, expected in ((0 - x, [-16777217, -3]), (x - 1, [16777216, 2]), (1 + x, [16777218, 4]),
                                 (2 * x, [33554434, 6])):
            self.assertEqual(result.dtype, x.dtype)
            self.assertEqual(result.tolist(), expected)
        self.assertEqual((0.5 - x).dtype, ht.tensor([0.5]).dtype)

    def test_compare_by_elements(self):
        x = ht.tensor([1.0, 2.0, 4.0])
        self.assertEqual((x == 2).tolist(), [False, True, False])
        self.assertEqual((x != x).tolist(), [False] * 3)
        self.assertEqual((x < 2).tolist() + (x <= 2).tolist(), [True, False, False, True, True, False])
        self.assertEqual((x > 2).tolist() + (x >= 2).tolist(), [False, False, True, False, True, True])
        self.assertEqual((~(x > 2)).tolist(), [True, True, False])
        self.assertEqual(len({x, x}), 1)

    def test_refuse_other_objects(self):
        for call in (lambda x: x + "a", lambda x: x @ 2, lambda x: [] * x):
            with self.assertRaises(TypeError):
                call(ht.tensor([1.0]))

    def test_index_as_numpy_does(self):
        x = ht.tensor([[1, 2, 3], [4, 5, 6]])
        self.assertEqual(x[1].tolist() + x[-1, :2].tolist(), [4, 5, 6, 4, 5])
        self.assertEqual((x[:, 2].tolist(), x[..., 1:].tolist()), ([3, 6], [[2, 3], [5, 6]]))
        self.assertEqual(x[0, ::2].tolist(), [1, 3])
        self.assertEqual((x[None].shape, x[..., None].shape, x[2:].shape), ((1, 2, 3), (2, 3, 1), (0, 3)))
        self.assertEqual((x[ht.tensor([1, 1])].tolist(), x[1, 1].item()), ([[4, 5, 6]] * 2, 5))
        self.assertEqual([row.tolist() for row in x], [[1, 2, 3], [4, 5, 6]])
        for wrong in (2, (0, 3), (0, 0, 0)):
            with self.assertRaises(IndexError):
                x[wrong]

    def test_are_recorded_for_backward(self):
        x = ht.tensor([1.0, 2.0])
        x.requires_grad = True
        ((3 - x) / x + x[0]).sum().backward()
        self.assertEqual(x.grad.tolist(), [-3.0 + 2, -0.75])


class Library(unittest.TestCase):
    def test_functions_have_a_signature_and_the_words_of_the_header(self):
        self.assertEqual(str(inspect.signature(ht.embedding)), "(weight, indices, padding_index=-1)")
        self.assertIn("Looks up rows of a table", ht.embedding.__doc__)
        for name in ht.__all__:
            if not isinstance(getattr(ht, name), ht.Dtype):
                self.assertTrue(inspect.getdoc(getattr(ht, name)), name)

    def test_every_docstring_has_the_words_of_python(self):
        places = [ht, nn, *(value for value in vars(ht).values() if inspect.isclass(value))]
        found = {f"{place.__name__}.{name}": value for place in places for name, value in vars(place).items()
                 if not name.startswith("_")}
        texts = {name: getattr(value, "__doc__", None) or "" for name, value in found.items()}
        self.assertGreater(len(texts), 1000)
        for name, text in texts.items():
            for word in ("HTONE_", "htone_", "owned by the caller", "NULL", "not 0:"):
                self.assertNotIn(word, text, name)
        self.assertIn("'bf16': the upper half of an FP32", ht.Dtype.__doc__)

    def test_an_operation_is_a_function_and_a_method(self):
        x = ht.tensor([-1.0, 2.0])
        self.assertEqual(ht.relu(x).tolist(), x.relu().tolist())
        self.assertEqual(ht.relu(input=x).tolist(), [0.0, 2.0])

    def test_a_long_call_lets_other_threads_run(self):
        store = ht.Store.memory(ht.Context.default_context())
        found = []
        waiter = threading.Thread(target=lambda: found.append(store.get("key", 60.0)))
        waiter.start()
        store.set("key", b"value")
        waiter.join()
        self.assertEqual(found, [b"value"])

    def test_autocast_and_no_grad_end_with_their_block(self):
        model, x = nn.Linear(2, 2), ht.tensor([[1.0, 2.0]])
        with ht.autocast("bf16"):
            self.assertIs(model(x).dtype, ht.Dtype.BF16)
        with self.assertRaises(KeyError), ht.no_grad():
            self.assertFalse(model(x).requires_grad)
            raise KeyError
        self.assertIs(model(x).dtype, ht.Dtype.F32)
        self.assertTrue(model(x).requires_grad)

    def test_a_model_is_described_before_it_has_memory(self):
        device = ht.Device("cpu", ht.Context(seed=5))
        at_once = ht.Device("cpu", ht.Context(seed=5))
        with ht.deferred_init():
            model = nn.Linear(1000, 1000, device=device)
        self.assertLess(device.memory_stats().current, 1000)
        expected = nn.Linear(1000, 1000, device=at_once).parameter(0).tensor.tolist()
        self.assertEqual(model.parameter(0).tensor.tolist(), expected)
        self.assertGreaterEqual(device.memory_stats().current, 4_000_000)

    def test_data_comes_in_epochs(self):
        data = ht.TensorDataset(ht.tensor([[0.0], [1.0], [2.0], [3.0]]), ht.tensor([0, 1, 2, 3]))
        loader = ht.DataLoader(data, batch_size=2, shuffle=True)
        epochs = [[(x.tolist(), y.tolist()) for x, y in loader] for _ in range(2)]
        for epoch in epochs:
            self.assertEqual(sorted(label for _, labels in epoch for label in labels), [0, 1, 2, 3])
            self.assertTrue(all(x == [[float(label)] for label in labels] for x, labels in epoch))

    def test_a_loader_takes_every_sample_by_default(self):
        loader = ht.DataLoader(ht.TensorDataset(ht.tensor([float(i) for i in range(10)])), batch_size=4)
        self.assertEqual([len(x.tolist()) for x, in loader], [4, 4, 2])
        self.assertEqual(ht.Sampler(10, 4).batches_per_epoch(), 3)
        self.assertEqual(ht.Sampler(10, 4, drop_last=True).batches_per_epoch(), 2)

    def test_a_checkpoint_loads_in_part(self):
        with tempfile.TemporaryDirectory() as folder:
            model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
            for frozen in (False, True):
                model.parameter(0).set_frozen(frozen)
                optimizer = ht.Optimizer.adamw(model, lr=0.5 if frozen else 0.25)
                with ht.Checkpoint(ht.Context.default_context(), folder) as checkpoint:
                    checkpoint.add_module("model", model)
                    checkpoint.add_optimizer("optimizer", optimizer)
                    if not frozen:
                        checkpoint.save(7)
                        optimizer.close()
                        continue
                    self.assertRaisesRegex(ht.HalftoneException, "only saved: 1", checkpoint.load)
                    self.assertEqual(checkpoint.load_with(strict=False, keep_settings=True), 7)
                    self.assertEqual(optimizer.group_lr(0), 0.5)
                    self.assertEqual(checkpoint.loaded_count(ht.LoadOutcome.DONE), 3)
                    self.assertEqual(checkpoint.loaded_name(ht.LoadOutcome.UNUSED, 0), "optimizer/0.weight")

    def test_a_file_loads_into_a_module(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = nn.Linear(2, 2), nn.Linear(2, 2)
            path = os.path.join(folder, "file.safetensors")
            ht.safetensors_save(ht.Context.default_context(), path, first.state_dict())
            second.load_file(path)
            self.assertEqual(second.parameter(0).tensor.tolist(), first.parameter(0).tensor.tolist())

    def test_a_state_dict_moves_the_weights_to_another_module(self):
        first, second = nn.Linear(2, 2), nn.Linear(2, 2)
        second.load_state_dict(first.state_dict())
        self.assertEqual(second.state_dict().keys(), ["weight", "bias"])
        self.assertEqual(second.state_dict()["weight"].tolist(), first.state_dict()["weight"].tolist())


if __name__ == "__main__":
    unittest.main()
