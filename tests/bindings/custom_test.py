"""Modules and functions of Python with their own backward, and what they raise. Run by CTest."""

import gc
import threading
import unittest
import weakref

import halftone as ht
from callbacks import Counted, variable, wall
from halftone import nn


class Residual(ht.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = ht.Parameter("scale", ht.tensor([2.0]))

    def forward(self, x):
        return x + self.scale.tensor * self.inner(x)


class Gate(ht.Module):
    def forward(self, x, mask=None, *, strict=False):
        return (x, -x) if mask is None else (x * mask, -x)


class Fails(ht.Module):
    def forward(self, x):
        return wall(x)


class Modules(Counted):
    def test_parts_are_set_as_attributes_and_train(self):
        model = nn.Sequential(Residual(2), nn.ReLU())
        self.assertEqual([name for name, _ in model.named_parameters()], ["0.scale", "0.inner.weight", "0.inner.bias"])
        loss = model(ht.tensor([[1.0, 2.0]])).sum()
        loss.backward()
        self.assertIsNotNone(model.parameter(0).grad)

    def test_run_after_their_object_is_gone_with_the_same_attributes(self):
        block = Residual(2)
        gone = weakref.ref(block)
        x = ht.tensor([[1.0, 2.0]])
        expected = block(x).tolist()
        model = ht.Module.sequential([block])
        del block
        gc.collect()
        self.assertIsNone(gone())
        for _ in range(2):
            self.assertEqual(model(x).tolist(), expected)

    def test_several_inputs_and_outputs(self):
        gate, x = Gate(), ht.tensor([1.0, 2.0])
        self.assertEqual([item.tolist() for item in gate(x)], [[1.0, 2.0], [-1.0, -2.0]])
        self.assertEqual(gate(x, ht.tensor([0.0, 1.0]))[0].tolist(), [0.0, 2.0])
        with self.assertRaisesRegex(TypeError, "takes from 2 to 3 positional arguments but 4 were given"):
            gate(x, x, x)

    def test_an_exception_arrives_through_every_level(self):
        class Outer(ht.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.ReLU(), Fails())

            def forward(self, x):
                return self.inner(x)

        model = nn.Sequential(nn.Sequential(Outer()))
        self.arrives(lambda: model(ht.tensor([1.0])), "wall", "forward")
        self.assertEqual(ht.tensor([1.0]).tolist(), [1.0])

    def test_of_a_wrong_result_are_refused(self):
        class Wrong(ht.Module):
            def forward(self, x):
                return self.result

        model = Wrong()
        for result in ((1, 2), [ht.tensor(1.0)] * 2, None):
            model.result = result
            with self.assertRaisesRegex(TypeError, "Wrong.forward returned .*; a module of the library"):
                nn.Sequential(model)(ht.tensor([1.0]))
        closed = ht.tensor([1.0])
        closed.close()
        model.result = closed
        with self.assertRaisesRegex(ValueError, "closed tensor"):
            model(ht.tensor([1.0]))

    def test_need_a_forward_and_a_beginning(self):
        with self.assertRaisesRegex(NotImplementedError, "Module has no forward"):
            ht.Module()(ht.tensor([1.0]))

        class Unbegun(ht.Module):
            def __init__(self):
                self.inner = nn.ReLU()

        with self.assertRaisesRegex(AttributeError, "call super"):
            Unbegun()

    def test_run_on_other_threads(self):
        model = Residual(2).eval()
        model.close()
        model = nn.Sequential(Residual(2)).eval()
        found = []
        threads = [threading.Thread(target=lambda: found.append(model(ht.tensor([[1.0, 2.0]])).tolist()))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)
        self.assertTrue(all(item == found[0] for item in found))

    def test_closed_objects_are_refused(self):
        with Residual(2) as model:
            self.assertTrue(model.thisown is False and model.parameter_count() == 3)
        model.close()
        with self.assertRaises(ht.InvalidHandleError):
            model(ht.tensor([[1.0, 2.0]]))

    def test_a_buffer_is_state(self):
        class Counting(ht.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", ht.tensor([0.0]))

            def forward(self, x):
                return x + self.seen

        self.assertEqual(Counting().state_dict().keys(), ["seen"])


class Square(ht.Function):
    @staticmethod
    def forward(context, x, factor=1):
        context.save_for_backward(x)
        context.factor = factor
        return x * x * factor

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return 2 * context.factor * x * gradient, None


class Functions(Counted):
    def test_have_their_own_backward(self):
        x = variable([1.0, 3.0])
        y = Square.apply(x, 2)
        self.assertEqual(y.tolist(), [2.0, 18.0])
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [4.0, 12.0])

    def test_pass_several_gradients_where_they_are_needed(self):
        class Swap(ht.Function):
            @staticmethod
            def forward(context, a, b):
                return b + 0, a + 0

            @staticmethod
            def backward(context, of_b, of_a):
                self.assertIsNone(of_b)
                self.assertEqual(context.needs_input_grad, (True, False))
                return of_a * 5, None

        a = variable([1.0])
        _, second = Swap.apply(a, ht.tensor([2.0]))
        second.sum().backward()
        self.assertEqual(a.grad.tolist(), [5.0])

    def test_exceptions_arrive_from_both_ways(self):
        class Forward(ht.Function):
            forward = staticmethod(wall)

        class Backward(ht.Function):
            @staticmethod
            def forward(context, x):
                return x * 1

            backward = staticmethod(wall)

        x = variable([1.0])
        self.arrives(lambda: Forward.apply(x), "wall")
        y = Backward.apply(x).sum()
        self.arrives(y.backward, "wall")

    def test_must_return_a_gradient_for_each_argument(self):
        class Short(Square):
            @staticmethod
            def backward(context, gradient):
                return (gradient,)

        with self.assertRaisesRegex(TypeError, "Short.backward returned 1 gradients, expected 2"):
            Short.apply(variable([1.0]), 2).sum().backward()

    def test_are_freed_with_their_graph(self):
        freed = []

        class Traced(Square):
            @staticmethod
            def forward(context, x):
                weakref.finalize(context, freed.append, True)
                return Square.forward(context, x)

        y = Traced.apply(variable([1.0]))
        gc.collect()
        self.assertEqual(freed, [])
        del y
        self.assertEqual(freed, [True])


if __name__ == "__main__":
    unittest.main()
