"""Functions of Python that the library calls: modules, functions with a backward, hooks, schedules, batches, stores,
DDP's reduction and the log. Run by CTest.
"""

import gc
import sys
import tempfile
import threading
import traceback
import unittest
import weakref
from array import array
from pathlib import Path
from unittest import mock

import halftone as ht
from halftone import nn


class Broken(Exception):
    pass


def wall(*_):
    raise Broken("wall")


def variable(data):
    x = ht.tensor(data)
    x.requires_grad = True
    return x


class Counted(unittest.TestCase):
    """Every test leaves as many objects of the library as it found, and no exception that waits."""

    def setUp(self):
        ht.default_device()
        gc.collect()
        self.before = ht.live_handles()

    def tearDown(self):
        gc.collect()
        self.assertEqual(ht.errors._pending, {})
        self.assertEqual(ht.live_handles(), self.before)

    def arrives(self, call, *functions):
        """The exception is that of the callback, and its traceback has these functions."""
        try:
            call()
        except Broken as error:  # assertRaises would clear the traceback
            names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        else:
            self.fail("nothing was raised")
        for name in functions:
            self.assertIn(name, names)


class Residual(ht.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = ht.Parameter("scale", ht.tensor([2.0]))

    def forward(self, x):
        return x + self.scale.tensor * self.inner(x)


class Gate(ht.Module):
    def __init__(self):
        super().__init__(outputs=2)

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
        model = nn.Sequential(block)
        del block
        gc.collect()
        self.assertIsNone(gone())
        for _ in range(2):
            self.assertEqual(model(x).tolist(), expected)

    def test_several_inputs_and_outputs(self):
        gate, x = Gate(), ht.tensor([1.0, 2.0])
        self.assertEqual((gate.input_count(), gate.output_count()), ((1, 2), 2))
        self.assertEqual([item.tolist() for item in gate(x)], [[1.0, 2.0], [-1.0, -2.0]])
        self.assertEqual(gate(x, ht.tensor([0.0, 1.0]))[0].tolist(), [0.0, 2.0])
        with self.assertRaises(ht.InvalidArgumentError):
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
        for result, kind in (((1, 2), TypeError), ([ht.tensor(1.0)] * 2, TypeError), (None, ht.HalftoneException)):
            model.result = result
            with self.assertRaises(kind):
                model(ht.tensor([1.0]))
        closed = ht.tensor([1.0])
        closed.close()
        model.result = closed
        with self.assertRaisesRegex(ValueError, "closed tensor"):
            model(ht.tensor([1.0]))

    def test_need_a_forward_and_a_beginning(self):
        with self.assertRaisesRegex(TypeError, "has a forward"):
            ht.Module()

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


class Hooks(Counted):
    def test_before_and_after_forward(self):
        layer, x, seen = nn.ReLU(), ht.tensor([-1.0, 2.0]), []
        with layer.add_forward_pre_hook(lambda module, inputs: -inputs[0]) as before, \
                layer.add_forward_hook(lambda module, inputs, outputs: seen.append((inputs[0].tolist(),
                                                                                    outputs[0].tolist()))):
            self.assertEqual(layer(x).tolist(), [1.0, 0.0])
            before.remove()
            self.assertEqual(layer(x).tolist(), [0.0, 2.0])
        self.assertEqual(layer(x).tolist(), [0.0, 2.0])
        self.assertEqual(seen, [([1.0, -2.0], [1.0, 0.0]), ([-1.0, 2.0], [0.0, 2.0])])

    def test_replace_outputs_and_gradients(self):
        x = variable([1.0, 2.0])
        layer = nn.ReLU()
        layer.add_forward_hook(lambda module, inputs, outputs: (outputs[0] * 3,))
        x.add_gradient_hook(lambda gradient: gradient * 10)
        layer(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [30.0, 30.0])

    def test_on_a_complete_gradient(self):
        layer, seen = nn.Linear(2, 1), []
        layer.parameter(0).add_post_accumulate_hook(lambda parameter: seen.append(parameter.grad.tolist()))
        layer(ht.tensor([[1.0, 2.0]])).sum().backward()
        self.assertEqual(seen, [[[1.0, 2.0]]])

    def test_may_keep_their_arguments(self):
        kept = []
        with ht.scope():
            layer = nn.ReLU()
            layer.add_forward_hook(lambda module, inputs, outputs: kept.extend(inputs + outputs))
            layer(ht.tensor([-1.0, 2.0]))
        others = [ht.tensor([9.0, 9.0]) for _ in range(100)]
        self.assertEqual([one.tolist() for one in kept], [[-1.0, 2.0], [0.0, 2.0]])
        del others, kept

    def test_pass_exceptions_on(self):
        for kind in ("forward_pre_hook", "forward_hook", "gradient_hook", "post_accumulate_hook"):
            x, layer = variable([1.0, 2.0]), nn.Linear(2, 1)
            owner = next(item for item in (layer, x, layer.parameter(0)) if hasattr(item, f"add_{kind}"))
            with getattr(owner, f"add_{kind}")(wall):
                self.arrives(lambda: layer(x).sum().backward(), "wall")

    def test_a_removed_hook_frees_its_function(self):
        def add(layer):
            def seen(*_):
                pass

            return layer.add_forward_hook(seen), weakref.ref(seen)

        layer = nn.ReLU()
        hook, function = add(layer)
        gc.collect()
        self.assertIsNotNone(function())
        hook.remove()
        self.assertIsNone(function())
        _, function = add(layer)
        del layer
        self.assertIsNone(function())

    def test_of_no_function_are_refused(self):
        with self.assertRaisesRegex(TypeError, "expected a function, not int"):
            nn.ReLU().add_forward_hook(3)
        with self.assertRaisesRegex(ht.InvalidArgumentError, "callback is NULL"):
            nn.ReLU().add_forward_hook(None)


class Graphs(Counted):
    def test_capture_and_replay_run_the_step(self):
        calls = []
        graph = ht.Graph.capture(ht.default_device(), lambda: calls.append(None))
        graph.replay()
        self.assertEqual(len(calls), 2)
        self.assertEqual(graph.is_recorded(), 0)

    def test_exceptions_of_the_step_arrive(self):
        self.arrives(lambda: ht.Graph.capture(ht.default_device(), wall), "wall")


class Schedules(Counted):
    def test_are_functions_of_the_step(self):
        optimizer = ht.Optimizer.adamw(nn.Linear(2, 1), lr=0.5)
        optimizer.set_schedule(ht.Schedule.callback(lambda position: 1 / (1 + position)))
        self.assertEqual(optimizer.lr, 0.5)
        with self.assertRaises(TypeError):
            optimizer.set_schedule(ht.Schedule.callback(lambda position: "fast"))
            optimizer.lr
        optimizer.set_schedule(ht.Schedule.callback(wall))
        self.arrives(lambda: optimizer.lr, "wall")


def tools_of_numpy(test):
    try:
        import numpy
    except ImportError:
        test.skipTest("numpy is not installed (Debian: python3-numpy)")
    return numpy


class Batches(Counted):
    ROWS = [("f32", (2,)), ("i64", ()), ("bf16", ())]

    def test_are_filled_by_a_function(self):
        def load(indices, points, labels, halves):
            for row, index in enumerate(indices):
                points[row, 0], points[row, 1], labels[row], halves[row] = index, -index, index * 10, 0x3F80

        batches = ht.Batches.from_function(ht.Sampler(4, 2, shuffle=False), self.ROWS, load)
        batches.advance()
        batches.advance()
        self.assertEqual(batches.tensor(0).tolist(), [[2.0, -2.0], [3.0, -3.0]])
        self.assertEqual(batches.tensor(1).tolist(), [20, 30])
        self.assertEqual(batches.tensor(2).tolist(), [1.0, 1.0])

    def test_pass_exceptions_on_and_stay_at_their_place(self):
        sampler = ht.Sampler(4, 2, shuffle=False)
        self.arrives(ht.Batches.from_function(sampler, self.ROWS, wall).advance, "wall")
        self.assertEqual(sampler.position(), (0, 0))

    def test_memory_ends_with_the_function(self):
        kept = []
        batches = ht.Batches.from_function(ht.Sampler(4, 2), [("f32", ())], lambda indices, row: kept.append(row))
        batches.advance()
        with self.assertRaises(ValueError):
            kept[0][0]

    def test_an_array_that_is_kept_keeps_its_batch(self):
        numpy = tools_of_numpy(self)
        kept = []

        def load(indices, row):
            kept.append(numpy.asarray(row))
            kept[-1][:] = indices

        batches = ht.Batches.from_function(ht.Sampler(4, 2, shuffle=False), [("f32", ())], load)
        for _ in range(2):
            batches.advance()
            self.assertEqual(batches.tensor(0).tolist(), kept[-1].tolist())
        batches.close()
        others = [ht.tensor([9.0] * 2) for _ in range(100)]
        self.assertEqual([array.tolist() for array in kept], [[0.0, 1.0], [2.0, 3.0]])
        for array in kept:
            array[:] = 7
        self.assertTrue(all(other.tolist() == [9.0, 9.0] for other in others))


class Dictionary:
    """A store of the program's."""

    def __init__(self):
        self.values = {}
        self.changed = threading.Condition()
        self.threads = set()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def get(self, key, timeout_seconds):
        self.threads.add(threading.get_ident())
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.values, timeout_seconds):
                raise TimeoutError(key)
            return self.values[key]

    def add(self, key, amount):
        with self.changed:
            total = int(self.values.get(key, b"0")) + amount
            self.values[key] = str(total).encode()
            self.changed.notify_all()
            return total

    def compare_set(self, key, expected, desired):
        with self.changed:
            if self.values.get(key) != expected:
                return False
            self.values.pop(key, None)
            if desired is not None:
                self.values[key] = desired
            self.changed.notify_all()
            return True

    def remove(self, key):
        with self.changed:
            return self.values.pop(key, None) is not None


class Stores(Counted):
    def test_are_objects_of_the_program(self):
        store = ht.Store.from_object(Dictionary())
        store.set("key", b"\0value" * 50)
        self.assertEqual(store.get("key", 1.0), b"\0value" * 50)
        self.assertEqual((store.add("sum", 3), store.add("sum", 4)), (3, 7))
        with self.assertRaises(ht.HalftoneException) as caught:
            store.get("absent", 0.01)
        self.assertEqual(caught.exception.status, ht.Status.TIMEOUT)

    def test_pass_exceptions_on_and_are_freed(self):
        functions = Dictionary()
        functions.set = wall
        freed = weakref.ref(functions)
        store = ht.Store.from_object(functions)
        del functions
        self.arrives(lambda: store.set("key", b"value"), "wall")
        store.close()
        self.assertIsNone(freed())

    def test_connect_ranks(self):
        context = ht.Context()
        device, store, sums = ht.Device("cpu", context), ht.Store.from_object(Dictionary(), context), {}

        def rank(number):
            group = ht.Group(device, "threads", store, rank=number, size=2)
            x = ht.tensor([float(number + 1)], device=device)
            group.all_reduce("sum", x, x)
            sums[number] = x.tolist()

        try:
            threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except ht.HalftoneException as refused:
            self.fail(str(refused))
        self.assertEqual(sums, {0: [3.0], 1: [3.0]})


class Reductions(Counted):
    def replicate(self, reduce):
        layer = nn.Linear(2, 1, bias=False)
        group = ht.Group(ht.default_device(), "single")
        replicated = ht.DistributedDataParallel(layer, group)
        replicated.set_reduction(reduce)
        loss = layer(ht.tensor([[1.0, 2.0]])).sum()
        return layer, replicated, loss

    def test_average_a_bucket(self):
        seen = []

        def halve(bucket, index):
            seen.append(index)
            bucket.write("f32", array("f", (bucket * 0.5).tolist()))

        layer, _, loss = self.replicate(halve)
        loss.backward()
        self.assertEqual(seen, [0])
        self.assertEqual(layer.parameter(0).grad.tolist(), [[0.5, 1.0]])

    def test_pass_exceptions_on(self):
        _, _, loss = self.replicate(wall)
        self.arrives(loss.backward, "wall")


class Log(Counted):
    def load_damaged(self):
        """The library reports a checkpoint that it must skip."""
        state = ht.StateDict()
        state.add("x", ht.tensor([1.0, 2.0]))
        with tempfile.TemporaryDirectory() as folder:
            with ht.Checkpoint(ht.Context.default_context(), folder) as checkpoint:
                checkpoint.add_state_dict("state", state)
                for step in (1, 2):
                    checkpoint.save(step)
                newest = Path(folder) / "step-2/index.json"
                newest.write_bytes(newest.read_bytes()[:-5])
                return checkpoint.load()

    def setUp(self):
        super().setUp()
        self.addCleanup(ht.log_set_callback, None)

    def test_goes_to_a_function_until_another_one_comes(self):
        lines = []

        def receive(line):
            lines.append(line)

        freed = weakref.ref(receive)
        ht.log_set_callback(receive)
        del receive
        self.assertEqual(self.load_damaged(), 1)
        self.assertRegex("\n".join(lines), "checkpoint of step 2 is damaged")
        ht.log_set_callback(None)
        self.assertIsNone(freed())

    def test_exceptions_in_it_are_reported_by_python(self):
        reported = []
        with mock.patch.object(sys, "unraisablehook", lambda report: reported.append(report.exc_type)):
            ht.log_set_callback(wall)
            self.assertEqual(self.load_damaged(), 1)
        self.assertIn(Broken, reported)


class Exceptions(Counted):
    def test_of_threads_are_kept_apart(self):
        layer = nn.ReLU()

        def fail(module, inputs):
            raise Broken(threading.current_thread().name)

        layer.add_forward_pre_hook(fail)
        found = {}

        def run():
            for _ in range(50):
                try:
                    layer(ht.tensor([1.0]))
                except Broken as error:
                    found.setdefault(threading.current_thread().name, set()).add(str(error))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        self.assertTrue(all(texts == {name} for name, texts in found.items()))

    def test_that_end_a_program_arrive(self):
        layer = nn.ReLU()
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
            def leave(*_):
                raise kind

            with layer.add_forward_pre_hook(leave), self.assertRaises(kind):
                layer(ht.tensor([1.0]))

    def test_an_error_of_the_library_inside_keeps_its_class(self):
        layer = nn.ReLU()
        layer.add_forward_pre_hook(lambda module, inputs: ht.add(inputs[0], ht.tensor([1.0] * 3)))
        with self.assertRaisesRegex(ht.ShapeMismatchError, "htone_add"):
            layer(ht.tensor([1.0, 2.0]))


if __name__ == "__main__":
    unittest.main()
