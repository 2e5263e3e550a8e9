"""The type stubs have the names of the package, and mypy accepts the sample and refuses wrong programs.

    stubs_test.py VENV      installs mypy into VENV, from PyPI, if it is not there yet; PYTHONPATH leads to the package
"""

import ast
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import halftone as ht
import venvs

MYPY = "mypy==1.11.2"
SAMPLES = Path(__file__).resolve().parents[2] / "samples/python"
PACKAGE = Path(ht.__file__).parent
# Every class has them; made by SWIG or inherited.
OWN = {"thisown", "this"}
WRONG = {
    'import halftone as ht\nht.relu("x")\n': 'Argument 1 to "relu" has incompatible type',
    "import halftone as ht\nht.tensor([1.0]).matmull()\n": 'has no attribute "matmull"',
    "from halftone import nn, optim\noptim.AdamW(nn.Linear(2, 3).parameters(), rate=1.0, lr='x')\n": 'incompatible type "str"',
    "from halftone import nn\nnn.Linear(2, 3, bais=True)\n": 'Unexpected keyword argument "bais"',
    "import halftone as ht\nx: int = ht.tensor([1.0]).shape\n": "Incompatible types in assignment",
}
mypy = None


def members(node):
    found = set()
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            found.add(item.name)
        elif isinstance(item, ast.AnnAssign):
            found.add(item.target.id)
        elif isinstance(item, ast.Assign):
            found.update(target.id for target in item.targets)
    return found


def check(*arguments, folder):
    command = [mypy, "-m", "mypy", "--strict", "--cache-dir", folder, *arguments]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=SAMPLES,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})


class Stubs(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
        self.classes = {node.name: node for node in self.tree.body
                        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}

    def test_have_every_public_name_and_no_other(self):
        described = {name for name in members(self.tree) if not name.startswith("_")}
        public = set(ht.__all__) - {"errors"} | set(ht.dtypes.TYPES_OF_PYTHON)
        self.assertEqual(described - public, set())
        self.assertEqual(public - described, {"DataLoader", "TensorDataset", "amp", "cuda", "nn", "optim", "utils"})

    def test_have_every_member_and_no_other(self):
        for name, node in self.classes.items():
            with self.subTest(name):
                kind, described = getattr(ht, name), members(node)
                if issubclass(kind, ht.enums._Enumeration):
                    self.assertEqual(described, set(kind.__members__))
                    continue
                missing = {item for item in described if not hasattr(kind, item)} - OWN
                instance_attributes = {"status", "sampler", "batches"}
                self.assertEqual(missing - instance_attributes, set())
                public = {item for item in vars(kind) if not item.startswith("_")}
                self.assertEqual(public - described - OWN, set())

    def test_have_every_layer(self):
        described = {name for file in ("nn/__init__.pyi", "nn/layers.pyi")
                     for name in members(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
                     if not name.startswith("_")}
        self.assertEqual(described, set(ht.nn.__all__) - {"Module", "functional", "init", "utils"})

    def test_mypy_accepts_the_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            done = check("train_gpt.py", folder=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mypy_refuses_wrong_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            for index, (program, message) in enumerate(WRONG.items()):
                path = Path(folder) / f"wrong{index}.py"
                path.write_text(program, encoding="utf-8")
                done = check(path, folder=folder)
                self.assertIn(message, done.stdout)


if __name__ == "__main__":
    mypy = venvs.install(Path(sys.argv.pop(1)), [MYPY], "import mypy")
    unittest.main()
