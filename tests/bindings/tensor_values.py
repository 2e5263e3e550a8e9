"""Numbers of the tests of tensors, and their comparison with numpy; without numpy the tests are skipped."""

import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)

FLOATS = np.array([[1.5, -2.0, 0.25], [4.0, -0.5, 3.0]], np.float32)
INTEGERS = np.array([[7, -7, 3], [-3, 8, 1]])


class Values(unittest.TestCase):
    def assertSame(self, found, expected):
        self.assertEqual(found.shape, expected.shape)
        np.testing.assert_allclose(np.asarray(found.detach()), expected, rtol=1e-6, atol=1e-7)
