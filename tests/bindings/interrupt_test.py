"""Ctrl-C during calls of the library that compute or wait. Run by CTest, whose time limit ends a call that goes on.
"""

import os
import signal
import threading
import unittest

import halftone as ht
from callbacks import Counted

FOREVER = 3600.0


class Sender:
    """Another thread sends SIGINT, again and again, while a block runs: the first may come before the call begins."""

    def __init__(self):
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.send)

    def send(self):
        while not self.done.wait(0.02):
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *raised):
        self.done.set()
        self.thread.join()


class Interrupts(Counted):
    def setUp(self):
        super().setUp()
        handler = signal.getsignal(signal.SIGINT)
        self.addCleanup(ht.watch_interrupts)
        self.addCleanup(signal.signal, signal.SIGINT, handler)

    def handle(self, handler):
        signal.signal(signal.SIGINT, handler)
        self.assertTrue(ht.watch_interrupts())

    def raise_once(self, number, frame):
        """As Python's own handler, but no later signal disturbs the test."""
        signal.signal(signal.SIGINT, lambda number, frame: None)
        raise KeyboardInterrupt

    def test_end_a_wait(self):
        store = ht.Store.memory(ht.Context.default_context())
        self.handle(self.raise_once)
        with Sender(), self.assertRaises(KeyboardInterrupt):
            store.get("never", FOREVER)
        store.set("name", b"value")
        self.assertEqual(store.get("name", 0.0), b"value")
        store.close()

    def test_end_a_computation_whose_model_stays(self):
        model = ht.nn.Sequential(*[ht.nn.Linear(64, 64) for _ in range(200)])
        x = ht.ones(64, 64)
        self.handle(self.raise_once)
        with Sender(), self.assertRaises(KeyboardInterrupt):
            while True:
                model(x).sum().backward()
        expected = [float(value) for value in model(x)[0].tolist()]
        self.assertEqual([float(value) for value in model(x)[0].tolist()], expected)
        del model, x

    def test_a_handler_that_returns_lets_the_call_go_on(self):
        store = ht.Store.memory(ht.Context.default_context())
        seen = []

        def note(number, frame):
            seen.append(number)
            store.set("name", b"value")

        self.handle(note)
        with Sender():
            self.assertEqual(store.get("name", FOREVER), b"value")
        self.assertIn(signal.SIGINT, seen)
        store.close()

    def test_a_signal_that_is_ignored_is_not_watched(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.assertFalse(ht.watch_interrupts())

    def test_another_thread_is_not_interrupted(self):
        store = ht.Store.memory(ht.Context.default_context())
        values, signals = [], []
        self.handle(lambda number, frame: signals.append(number))
        thread = threading.Thread(target=lambda: values.append(store.get("name", FOREVER)))
        thread.start()
        with Sender():
            while len(signals) < 3:
                pass
        store.set("name", b"value")
        thread.join()
        self.assertEqual(values, [b"value"])
        store.close()


if __name__ == "__main__":
    unittest.main()
