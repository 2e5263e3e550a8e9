"""Hooks, graphs, schedules, DDP's reduction, spikes and the log, which are functions of Python. Run by CTest."""

import gc
import math
import sys
import tempfile
import threading
import unittest
import weakref
from array import array
from pathlib import Path
from unittest import mock

import halftone as ht
from callbacks import Broken, Counted, variable, wall
from halftone import nn


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
        with self.assertRaisesRegex(TypeError, "callback must be a function, got int 3"):
            nn.ReLU().add_forward_hook(3)
        with self.assertRaisesRegex(TypeError, "callback must be a function, got None"):
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


class Spikes(Counted):
    def step(self, statistics, loss):
        statistics.begin_step()
        statistics.end_step(loss, 1)

    def test_have_a_step_and_a_name(self):
        seen, statistics = [], ht.Statistics(ht.default_device())
        statistics.set_spike_callback(lambda step, quantity: seen.append((step, quantity)))
        for loss in (1.0, math.inf):
            self.step(statistics, loss)
        self.assertEqual(seen, [(2, "loss")])
        self.assertEqual(statistics.last_spike().value, math.inf)
        statistics.set_spike_callback(wall)
        self.arrives(lambda: self.step(statistics, math.nan), "wall")
        self.assertEqual(statistics.summary().spikes, 2)


class Trainers(Counted):
    def train(self, callback):
        """Trains for four steps, and returns how many were done."""
        model, rows = nn.Linear(2, 1), ht.ones(8, 2)
        trainer = ht.Trainer(model, ht.Batches(ht.Sampler(8, 2), [rows]), precision="fp32")
        trainer.set_callback(callback)
        try:
            while trainer.next() != ht.TrainerPhase.DONE:
                with trainer.turn():
                    trainer.take_loss(model(trainer.tensor(0)).mean())
        finally:
            self.steps = trainer.describe().step

    def test_have_a_function_for_each_step(self):
        seen = []
        self.train(seen.append)
        self.assertEqual(seen, [1, 2, 3, 4])
        self.arrives(lambda: self.train(wall), "wall")
        self.assertEqual(self.steps, 1, "the step was done")


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
        with self.assertRaisesRegex(ht.ShapeMismatchError, "^add: "):
            layer(ht.tensor([1.0, 2.0]))


if __name__ == "__main__":
    unittest.main()
