"""Shared by the tests of functions that the library calls: a function that raises, and a count of live objects."""

import gc
import traceback
import unittest

import halftone as ht


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
