#!/usr/bin/python3
"""Configures with the command of docs/gpu.md, and gives nvcc one source of each folder of impl/cuda and impl/comm/nccl.

nvcc alone sees some errors. Code for a GPU takes it ten times as long as the check, so it makes none where it can do
without, and the number of the commit chooses the sources: `tests/run cuda` compiles all. Prints what is skipped, and why.

  tests/cuda/compile_rooms_test.py cmake build/release/nvcc
"""
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SKIPPED = 77
SYNTAX_ONLY = "-fdevice-syntax-only"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def run(*command) -> str:
    done = subprocess.run(list(map(str, command)), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))} returned {done.returncode}:\n{done.stdout}")
    return done.stdout


def commit_number() -> int:
    """0 without a history."""
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def shown_command() -> list[str]:
    page = (REPOSITORY / "docs/gpu.md").read_text(encoding="utf-8")
    return shlex.split(re.search(r"^(cmake --preset release -DHALFTONE_CUDA=ON.*)$", page, re.M)[1], comments=True)


def has_nccl() -> bool:
    return any(Path(folder, "nccl.h").exists()
               for folder in ("/usr/include", "/usr/local/include", Path(NVCC).resolve().parents[1] / "include"))


class Rooms(unittest.TestCase):
    cmake, build = "cmake", Path("build/release/nvcc")

    @classmethod
    def setUpClass(cls):
        options = ["-DHALFTONE_CUDA_ARCHITECTURES=80", "-DHALFTONE_TESTS=ON", "-DHALFTONE_WERROR=ON"]
        if SYNTAX_ONLY in run(NVCC, "--help"):  # CUDA 12.4 lacks it
            options.append(f"-DCMAKE_CUDA_FLAGS={SYNTAX_ONLY}")
        if has_nccl():
            options.append("-DHALFTONE_NCCL=ON")
        else:
            print("skipped: the plugin for NCCL, whose nccl.h is not installed")
        run(cls.cmake, *shown_command()[1:], "-B", cls.build, *options)

    def rooms(self) -> dict[Path, list[str]]:
        """The objects that nvcc makes, by the folder of their sources."""
        rooms = {}
        for name in re.findall(r"^build (impl/\S+\.o): CUDA_COMPILER", (self.build / "build.ninja").read_text(), re.M):
            rooms.setdefault(Path(re.sub(r"CMakeFiles/\w+\.dir/", "", name)).parent, []).append(name)
        return rooms

    def test_one_source_of_each_room_compiles(self):
        rooms = self.rooms()
        sources = {path.parent.relative_to(REPOSITORY) for path in (REPOSITORY / "impl/cuda").rglob("*.c*")}
        self.assertLessEqual(sources, set(rooms))
        number = commit_number()
        kernels = [[name for name in names if name.endswith(".cu.o")] or names for names in rooms.values()]
        chosen = [names[number % len(names)] for names in kernels]
        print(f"commit {number}: {' '.join(chosen)}", flush=True)
        run(self.cmake, "--build", self.build, "--parallel", 2, "--target", *chosen)


if __name__ == "__main__":
    Rooms.cmake, Rooms.build = sys.argv[1], Path(sys.argv[2]).resolve()
    if NVCC is None:
        print("skipped: nvcc is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
