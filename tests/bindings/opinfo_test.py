"""PyTorch's own operator tests over the package: opinfo.py, with the PyTorch of PyPI.

    opinfo_test.py VENV     installs PyTorch into VENV, if it is not there yet (5 GB); PYTHONPATH leads to the package
"""

import subprocess
import sys
from pathlib import Path

import venvs

PACKAGES = ["torch==2.15.0", "numpy", "expecttest"]

interpreter = venvs.install(Path(sys.argv[1]), PACKAGES, "import torch, numpy, expecttest")
sys.exit(subprocess.run([interpreter, "-B", Path(__file__).with_name("opinfo.py")]).returncode)
