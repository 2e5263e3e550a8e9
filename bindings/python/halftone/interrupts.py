"""Ctrl-C during a call of the library."""

import threading

from . import halftone as _generated

__all__ = ["watch_interrupts"]


def watch_interrupts():
    """watch_interrupts()

    Lets Ctrl-C end a call that computes, or that waits for another rank: KeyboardInterrupt is raised from inside the
    call, as soon as a kernel that runs has ended. Importing halftone does this. A program that sets a handler of SIGINT
    later calls it again; without that, its handler runs when the call has returned.

    A call that ends this way leaves everything as it was, but gradients of a backward: those are dropped. A handler that
    does not raise lets the call go on.

    >>> signal.signal(signal.SIGINT, save_and_leave)
    >>> ht.watch_interrupts()

    Returns False where the process ignores SIGINT or leaves it to the system."""
    return _generated.watch_signal(threading.main_thread().ident)
