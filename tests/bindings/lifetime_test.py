"""When the Python binding releases objects, and how much memory it needs. Run by CTest as a program of its own."""

import gc
import resource
import subprocess
import sys
import threading
import unittest

import halftone as ht


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Lifetime(unittest.TestCase):
    def setUp(self):
        ht.default_device()  # lives as long as the program
        gc.collect()
        self.before = ht.live_handles()

    def tearDown(self):
        gc.collect()
        self.assertEqual(ht.live_handles(), self.before)

    def test_dropped_tensors_are_released(self):
        x = ht.tensor([1.0])
        for _ in range(100_000):
            x + 1

    def test_dropped_tensors_give_their_memory_back(self):
        x, before = ht.Tensor.zeros(ht.default_device(), "f32", [1 << 20]), peak_bytes()
        for _ in range(500):
            x + 1
        self.assertLess(peak_bytes() - before, 200 << 20)

    def test_tensors_in_a_circle_are_collected(self):
        circle = [ht.tensor([1.0])]
        circle.append(circle)

    def test_the_default_device_outlives_a_scope_that_is_the_first_to_use_it(self):
        program = "import halftone as ht\nwith ht.scope(): ht.tensor([1.0])\nprint(ht.tensor([2.0]).tolist())"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[2.0]\n", ""))

    def test_the_device_in_use_outlives_its_object(self):
        device = ht.Device("cpu")
        x = ht.tensor([1.0], device=device)
        device.close()
        self.assertEqual((x + 1).tolist(), [2.0])

    def test_a_scope_releases_what_was_made_inside(self):
        outside = ht.tensor([1.0])
        with ht.scope():
            inside = outside + 1
            kept = ht.keep(outside + 2)
            self.assertEqual(ht.live_handles(), self.before + 4)  # with the scope
        self.assertEqual(ht.live_handles(), self.before + 2)
        self.assertEqual((outside.tolist(), kept.tolist()), ([1.0], [3.0]))
        with self.assertRaises(ht.InvalidHandleError):
            inside.tolist()

    def test_scopes_nest_and_end_after_an_exception(self):
        with ht.scope():
            outer = ht.tensor([1.0])
            with self.assertRaises(KeyError), ht.scope():
                inner = outer + 1
                raise KeyError
            self.assertEqual(outer.tolist(), [1.0])
            with self.assertRaises(ht.InvalidHandleError):
                inner.tolist()

    def test_an_object_that_is_dropped_in_a_scope_is_released_at_once(self):
        with ht.scope():
            x, before = ht.tensor([1.0]), ht.live_handles()
            for _ in range(1000):
                x + 1
            self.assertEqual(ht.live_handles(), before)

    def test_a_scope_belongs_to_its_thread(self):
        made = []
        with ht.scope():
            thread = threading.Thread(target=lambda: made.append(ht.tensor([5.0])))
            thread.start()
            thread.join()
        self.assertEqual(made[0].tolist(), [5.0])

    def on_another_thread(self, call, expected):
        """Runs the call there, and returns the exception of this type that it raises."""
        raised = []

        def run():
            with self.assertRaises(expected) as context:
                call()
            raised.append(context.exception)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        self.assertEqual(len(raised), 1)
        return raised[0]

    def records(self):
        x = ht.tensor([1.0])
        x.requires_grad = True
        return (x * 2).requires_grad

    def test_a_mode_that_another_thread_leaves_ends_at_its_threads_next_call(self):
        x = ht.tensor([[1.0]])
        for mode, is_off in ((ht.no_grad(), self.records), (ht.autocast("bf16"), lambda: str((x @ x).dtype) == "f32")):
            mode.__enter__()
            self.assertFalse(is_off())
            error = self.on_another_thread(lambda: mode.__exit__(None, None, None), ht.HalftoneException)
            self.assertEqual(error.status, ht.Status.STATE)
            self.assertIn("another thread", str(error))
            self.assertTrue(is_off())

    def test_a_scope_that_another_thread_closes_is_closed(self):
        scope = ht.handles_begin()
        inside = ht.tensor([1.0])
        self.on_another_thread(scope.close, ht.HalftoneException)
        self.assertTrue(self.records())
        with self.assertRaises(ht.InvalidHandleError):
            inside.tolist()
        scope.close()  # does nothing

    def test_a_mode_that_ends_out_of_order_ends_after_the_inner_scope(self):
        def generate():
            with ht.no_grad():
                yield 1
            yield 2

        generator = generate()
        next(generator)
        with ht.scope():
            with self.assertRaisesRegex(ht.HalftoneException, "end the inner ones first"):
                next(generator)
        self.assertTrue(self.records())

    def test_one_object_begins_a_mode_on_several_threads(self):
        mode, inner_begun, outer_ended = ht.no_grad(), threading.Event(), threading.Event()
        recorded = []

        def work():
            with mode:
                inner_begun.set()
                outer_ended.wait()
            recorded.append(self.records())

        thread = threading.Thread(target=work)
        with mode:
            thread.start()
            inner_begun.wait()
        recorded.append(self.records())
        outer_ended.set()
        thread.join()
        self.assertEqual(recorded, [True, True])

    def test_a_closed_object_is_refused(self):
        x = ht.tensor([1.0])
        x.close()
        x.close()
        with self.assertRaisesRegex(ht.InvalidHandleError, "^add_scalar: "):
            x + 1
        self.assertIn("Tensor", repr(x))


if __name__ == "__main__":
    unittest.main()
