"""The wheel works in a clean environment, in a folder from which the build tree is not seen.

    wheel_test.py CMAKE BUILD     the wheel is made of the build. Skipped without pip, setuptools, wheel or venv.
"""

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "samples/python"
PROGRAM = """
import halftone as ht
from halftone import nn
assert "site-packages" in ht.__file__, ht.__file__
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = ht.Optimizer.adamw(model, lr=0.01)
x = ht.tensor([[1.0, 2.0, 3.0, 4.0]])
losses = []
for _ in range(20):
    loss = ((model(x) - 3) ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
loaded = [line.split()[-1] for line in open("/proc/self/maps") if "halftone" in line]
assert all("site-packages" in path for path in loaded), loaded
print("trained", ht.__version__)
"""


def run(*command, **settings):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Wheel(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        run(cls.cmake, "--build", cls.build, "--target", "halftone_wheel")
        (cls.wheel,) = (cls.build / "wheels").glob(f"halftone-*-cp3{sys.version_info.minor}-cp3*.whl")
        run(sys.executable, "-m", "venv", cls.folder / "venv")
        cls.python = cls.folder / "venv/bin/python"
        run(cls.python, "-m", "pip", "-q", "install", "--no-index", cls.wheel)
        cls.environment = {key: value for key, value in os.environ.items()
                           if key not in ("PYTHONPATH", "LD_LIBRARY_PATH")}

    def test_has_the_library_the_stubs_and_its_tag(self):
        names = set(zipfile.ZipFile(self.wheel).namelist())
        self.assertTrue({"halftone/libhalftone.so.0.1", "halftone/__init__.pyi", "halftone/py.typed"} <= names)
        self.assertIn(f"-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_", self.wheel.name)

    def test_says_what_it_is_and_under_which_licence(self):
        content = zipfile.ZipFile(self.wheel)
        (info,) = {name.partition("/")[0] for name in content.namelist() if ".dist-info/" in name}
        (licence,) = (name for name in content.namelist() if name.endswith("LICENSE"))
        self.assertIn(b"Apache License", content.read(licence))
        metadata = content.read(f"{info}/METADATA").decode()
        for line in (f"Requires-Python: ==3.{sys.version_info.minor}.*", "License: Apache-2.0", "Author: halftone",
                     "Provides-Extra: numpy", "Description-Content-Type: text/markdown"):
            self.assertIn(f"\n{line}\n", metadata)
        self.assertIn("optimizer.step()", metadata)
        program = metadata.partition("```python\n")[2].partition("```")[0]
        output = run(self.python, "-I", "-c", program, cwd=self.folder, env=self.environment)
        self.assertIn("[0, 1, 1, 0]", output)

    def test_has_the_launcher_of_processes(self):
        output = run(self.python.with_name("halftone-run"), "-n", "2", self.python, "-c", "print('started')",
                     cwd=self.folder, env=self.environment)
        self.assertEqual(output.count("started"), 2)

    def test_does_not_know_the_build_tree(self):
        for name in zipfile.ZipFile(self.wheel).namelist():
            if ".so" in name:
                path = self.folder / "venv/lib" / f"python3.{sys.version_info.minor}" / "site-packages" / name
                self.assertNotIn(str(self.build.resolve()), run("readelf", "-d", path))

    def test_trains_in_a_folder_without_the_build_tree(self):
        self.assertIn("trained", run(self.python, "-I", "-c", PROGRAM, cwd=self.folder, env=self.environment))

    def test_runs_the_sample(self):
        text = self.folder / "text"
        text.write_text("the old king saw the moon. " * 300, encoding="utf-8")
        output = run(self.python, SAMPLES / "train_gpt.py", "--text", text, "--steps", "5", "--generate", "5",
                     cwd=self.folder, env=self.environment)
        self.assertIn("validation loss", output)

    def test_the_installed_package_finds_the_library_of_its_prefix(self):
        prefix = self.folder / "prefix"
        run(self.cmake, "--install", self.build, "--component", "python", "--prefix", prefix)
        (prefix / "lib").mkdir(exist_ok=True)
        library = next((self.build / "capi").glob("libhalftone.so.0.1"))
        (prefix / "lib" / library.name).write_bytes(library.read_bytes())
        package = next(prefix.rglob("site-packages"))
        self.assertRegex(run("readelf", "-d", next(package.rglob("_halftone*.so"))), r"RUNPATH.*\[\$ORIGIN:\$ORIGIN/\.\./")
        code = "import halftone, sys; assert halftone.__file__.startswith(sys.argv[1]); print(halftone.tensor([1.0]) + 1)"
        output = run(sys.executable, "-B", "-c", code, prefix, cwd=self.folder,
                     env={**self.environment, "PYTHONPATH": str(package)})
        self.assertIn("2", output)


if __name__ == "__main__":
    probe = subprocess.run([sys.executable, "-c", "import setuptools, ensurepip, pip, venv, wheel"], capture_output=True,
                           text=True)
    if probe.returncode != 0:
        print("skipped:", probe.stderr.strip().splitlines()[-1],
              "(Debian: python3-pip python3-setuptools python3-venv python3-wheel)")
        sys.exit(77)
    Wheel.build, Wheel.cmake = Path(sys.argv.pop()), sys.argv.pop()
    unittest.main()
