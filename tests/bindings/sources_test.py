"""Batches and stores whose content comes from functions of Python, and what these raise. Run by CTest."""

import threading
import unittest
import weakref

import halftone as ht
from callbacks import Counted, wall


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


if __name__ == "__main__":
    unittest.main()
