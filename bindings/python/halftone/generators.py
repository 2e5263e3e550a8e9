"""Sources of seeds, by PyTorch's name."""

import os

from .registry import function

_USUAL = 67280421310721  # PyTorch's, too


def draws_of(seed):
    """Random numbers of Python, whose import takes a millisecond that most programs do not need."""
    import random

    return random.Random(seed)


@function
class Generator:
    """Seeds of the orders of data sets, which depend on its own seed alone.

        loader = DataLoader(data, shuffle=True, generator=halftone.Generator().manual_seed(7))

    Random tensors do not use it: manual_seed(), set_seed() of a Context and its generator_state() rule them.
    """

    def __init__(self, device="cpu"):
        if str(device) != "cpu":
            raise NotImplementedError(f"Generator: device must be 'cpu', got {device!r}")
        self.manual_seed(_USUAL)

    def manual_seed(self, seed):
        """Begins with a seed; returns the generator."""
        self._seed, self._draws = seed.__index__(), draws_of(seed.__index__())
        return self

    def seed(self):
        """Begins with a seed of the system, which it returns."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
        return self._seed

    def initial_seed(self):
        """The seed with which it began."""
        return self._seed

    def draw(self):
        """The next number of 53 bits."""
        return self._draws.getrandbits(53)
