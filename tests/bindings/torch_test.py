"""Tensors of PyTorch and of the library share memory in both directions. Run by CTest; by hand, after

    sudo apt-get install python3-torch
    ctest --test-dir build/release -R bindings.python_torch --output-on-failure

Skipped without PyTorch, which is too large (566 MB) to be installed for one test. It is PyTorch for the CPU.
"""

import gc
import sys
import unittest

import halftone as ht

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch python3-numpy)")
    sys.exit(77)

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
          "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}


class Capsules(unittest.TestCase):
    def test_share_every_dtype_and_stride_in_both_directions(self):
        for name, dtype in DTYPES.items():
            with self.subTest(name):
                source = torch.arange(12).reshape(3, 4).to(dtype)[:, ::2]
                made = ht.from_dlpack(source)
                self.assertEqual((str(made.dtype), made.shape, made.tolist()), (name, (3, 2), source.tolist()))
                back = torch.from_dlpack(made)
                self.assertEqual((back.dtype, back.stride(), back.data_ptr()),
                                 (source.dtype, source.stride(), source.data_ptr()))
                made.fill(1)
                self.assertEqual(source.tolist(), [[1, 1]] * 3)
                back[0, 0] = 5
                self.assertEqual(made.tolist()[0][0], 5)

    def test_of_the_library_live_as_long_as_torch_uses_them(self):
        gc.collect()
        before = ht.live_handles(), ht.default_device().memory_stats().current
        x = ht.tensor([1.0, 2.0])
        shared = torch.from_dlpack(x)
        del x
        self.assertEqual(shared.tolist(), [1.0, 2.0])
        self.assertGreater(ht.default_device().memory_stats().current, before[1])
        del shared
        self.assertEqual((ht.live_handles(), ht.default_device().memory_stats().current), before)

    def test_of_torch_live_as_long_as_the_library_uses_them(self):
        source = torch.ones(1000)
        made, address = ht.from_dlpack(source), source.data_ptr()
        del source
        gc.collect()
        self.assertEqual((made.tolist()[-1], torch.from_dlpack(made).data_ptr()), (1.0, address))

    def test_with_a_graph_are_refused_by_both(self):
        with self.assertRaisesRegex((RuntimeError, BufferError), "grad"):  # by the version of PyTorch
            ht.from_dlpack(torch.ones(2, requires_grad=True))
        x = ht.tensor([1.0])
        x.requires_grad = True
        with self.assertRaisesRegex(ht.HalftoneException, "detach"):
            torch.from_dlpack(x)


class Arrays(unittest.TestCase):
    def test_share_memory_in_both_directions(self):
        source = torch.zeros(2, 3)
        made = ht.from_numpy(np.asarray(source))
        made.fill(4)
        self.assertEqual(source.tolist(), [[4.0] * 3] * 2)
        back = torch.as_tensor(np.asarray(made))
        self.assertEqual(back.data_ptr(), source.data_ptr())

    def test_carry_truth_values_for_which_this_torch_has_no_capsule(self):
        source = torch.tensor([True, False])
        made = ht.from_numpy(source.numpy())
        self.assertEqual((str(made.dtype), made.tolist()), ("bool", [True, False]))
        self.assertEqual(torch.as_tensor(made.numpy()).data_ptr(), source.data_ptr())


class Program(unittest.TestCase):
    def test_torch_computes_gradients_and_the_library_steps(self):
        """Both optimizers start alike and see the same gradients; the library's writes torch's own weights."""
        torch.manual_seed(1)
        mine, reference = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
        reference.load_state_dict(mine.state_dict())
        settings = {"lr": 0.05, "weight_decay": 0.01}
        theirs = torch.optim.AdamW(reference.parameters(), **settings)
        parameters, shared = ht.Parameters(), []
        for name, weight in mine.named_parameters():
            weight.grad = torch.zeros_like(weight)
            parameter = ht.Parameter(name, ht.from_dlpack(weight.detach()))
            parameter.set_grad(ht.from_dlpack(weight.grad))
            parameters.add(parameter)
            shared.append(parameter)
        optimizer = ht.Optimizer.adamw_over(parameters, **settings)
        inputs, targets = torch.randn(8, 4), torch.randn(8, 3)
        for _ in range(10):
            for model in (mine, reference):
                for weight in model.parameters():
                    if weight.grad is not None:
                        weight.grad.zero_()
                torch.nn.functional.mse_loss(model(inputs), targets).backward()
            theirs.step()
            optimizer.step()
        for weight, expected in zip(mine.parameters(), reference.parameters()):
            self.assertTrue(torch.allclose(weight, expected, rtol=1e-5, atol=1e-6), (weight, expected))


if __name__ == "__main__":
    unittest.main()
