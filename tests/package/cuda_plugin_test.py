#!/usr/bin/python3
"""Installs a build that has the CUDA plugin, moves the prefix, and asks for a GPU from a C program that links it. Without
a driver, the program must get the plugin's own error, which shows that the library found and opened it. Exits with 77
where the build has no plugin: it takes minutes in nvcc, and tests/gpu/run build makes it.

  tests/package/cuda_plugin_test.py cmake build/gpu
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from installed_prefix import InstalledPrefix, run

CONSUMER = Path(__file__).resolve().parent / "consumer"
# The targets that an installation needs; a build may lack some.
INSTALLED = ("halftone", "halftone_static", "halftone-run", "halftone-analyze", "halftone-report", "halftone_cuda", "halftone_gloo")


def has_gpu() -> bool:
    tool = shutil.which("nvidia-smi")
    return tool is not None and subprocess.run([tool], capture_output=True).returncode == 0


class CudaPlugin(unittest.TestCase):
    cmake, build = "cmake", Path("build/gpu")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        known = set(re.findall(r"^([\w.-]+): phony$", run(cls.cmake, "--build", cls.build, "--target", "help"), re.M))
        run(cls.cmake, "--build", cls.build, "--target", *[target for target in INSTALLED if target in known])
        cls.prefix = InstalledPrefix(cls.cmake, cls.build, Path(folder.name))
        cls.program = Path(folder.name) / "cuda"
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", CONSUMER / "cuda.c", "-o", cls.program,
            *cls.prefix.pkg_config("--cflags", "--libs"))

    def test_the_plugin_lies_beside_the_library(self):
        self.assertTrue((self.prefix.libraries / "libhalftone_cuda.so").is_file())
        self.assertTrue((self.prefix.libraries / "libhalftone.so").exists())

    def test_the_plugin_needs_neither_the_driver_nor_the_toolkit(self):
        needed = run("readelf", "-d", self.prefix.libraries / "libhalftone_cuda.so")
        self.assertNotRegex(needed, r"NEEDED.*lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|halftone)\b")

    def test_a_program_gets_the_device_or_the_reason(self):
        answer = self.prefix.run_program(self.program)
        if has_gpu():
            self.assertEqual(answer, "cuda:0\n")
        else:
            self.assertRegex(answer, r"^DEVICE htone_device_create: no CUDA device: "
                                     r"(NVIDIA's driver is not installed|the driver )")

    def test_without_the_file_the_error_names_it(self):
        plugin = self.prefix.libraries / "libhalftone_cuda.so"
        aside = plugin.with_suffix(".aside")
        plugin.rename(aside)
        try:
            self.assertIn("libhalftone_cuda.so", self.prefix.run_program(self.program))
        finally:
            aside.rename(plugin)


if __name__ == "__main__":
    CudaPlugin.cmake, CudaPlugin.build = sys.argv[1], Path(sys.argv[2])
    if "HALFTONE_CUDA:BOOL=ON" not in (CudaPlugin.build / "CMakeCache.txt").read_text():
        print(f"skipped: {CudaPlugin.build} has no CUDA plugin; tests/gpu/run build makes a build that has it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
