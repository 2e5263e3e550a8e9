"""The Python programs of docs/from-pytorch.md compute the losses of PyTorch. Run by CTest; skipped without numpy.

Where PyTorch is installed, the programs run over it, too, with only the imports changed. The numbers below are its own
(2.2.2, for the CPU), for where it is not.
"""

import re
import sys
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-numpy)")
    sys.exit(77)

try:
    import torch
except ImportError as error:
    torch = None
    print(f"the programs run over halftone alone: {error}")

TEXT = (Path(__file__).resolve().parents[2] / "docs/from-pytorch.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"```python\n# program: ([^\n]*)\n(.*?)```", TEXT, re.DOTALL))
LOSSES = {
    "residual network": [2.798936, 2.509768, 2.174175, 1.892344, 1.716904, 1.641242, 1.629563],
    "small GPT": [4.06967, 3.761638, 3.575158, 3.139333, 3.01946, 2.857022],
    "own backward": [0.8578503, 0.7433515, 0.6682582, 0.6158997, 0.5772316],
}


def numbers(*shape):
    """Values in (-1, 1) that are no multiples of each other, the same everywhere."""
    count = int(np.prod(shape))
    return np.sin(np.arange(1, count + 1) * 1.7).reshape(shape).astype("float32")


def run(program, library):
    """The losses of a program over a library."""
    source = PROGRAMS[program]
    if library == "torch":
        source = source.replace("import halftone as ht\n", "import torch as ht\n").replace("halftone", "torch")

    def weights(model):
        make = __import__(library).tensor
        values = {name: make(numbers(*part.shape) * 0.5) for name, part in model.named_parameters()}
        model.load_state_dict(values, strict=False)

    names = {"weights": weights, "numbers": numbers, "__name__": "program"}
    exec(compile(source, program, "exec"), names)
    return names["losses"]


class Programs(unittest.TestCase):
    def test_the_document_has_the_three_programs(self):
        self.assertEqual(list(PROGRAMS), ["residual network", "small GPT", "own backward"])

    def test_losses_are_those_of_pytorch(self):
        for program in PROGRAMS:
            with self.subTest(program):
                found, expected = run(program, "halftone"), LOSSES[program]
                np.testing.assert_allclose(found, expected, rtol=1e-4)
                self.assertLess(min(found), found[0])

    def test_losses_over_this_pytorch_are_the_same(self):
        if torch is None:
            self.skipTest("PyTorch is not installed")
        for program in PROGRAMS:
            with self.subTest(program):
                np.testing.assert_allclose(run(program, "halftone"), run(program, "torch"), rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
