"""Prints what calls cost in Python over a loop in C, in one process: tests/bench/overhead/calls.py BUILD_FOLDER

PYTHONPATH leads to the package of the build. The loops take turns, and the least time of each counts, on the thread's
own clock. The last line is the CPU time of `import halftone` in a new process.
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import halftone as ht
from halftone import halftone as generated

ROUNDS, CALLS = 60, 5_000
FOLDER = Path(__file__).resolve().parent
a = b = ht.zeros(64, 64)


def c_loops(build):
    """The functions of calls.c, over the library that the package uses."""
    made = Path(tempfile.mkdtemp()) / "calls.so"
    library = build / "capi"
    headers = FOLDER.parents[2] / "capi/include"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, FOLDER / "calls.c", f"-I{headers}",
                    f"-I{build}/generated/include", f"-L{library}", "-lhalftone", f"-Wl,-rpath,{library}"], check=True)
    loaded = ctypes.CDLL(str(made))
    loaded.make_tensors(ctypes.c_int64(64))
    for name in ("add", "add_scalar", "dtype", "shape"):
        getattr(loaded, name).restype = ctypes.c_double
    return loaded


def in_python(statement):
    """A function that runs a statement so many times, and returns the nanoseconds of one."""
    names = {"a": a, "b": b, "ht": ht, "add": generated.add, "now": time.thread_time_ns}
    text = f"def loop(calls):\n  begin = now()\n  for _ in range(calls): {statement}\n  return (now() - begin) / calls"
    exec(text, names)
    return names["loop"]


def import_seconds():
    """The CPU time of a process that imports the package, less that of one that does nothing."""
    times = []
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as compiled:
        settings["PYTHONPYCACHEPREFIX"] = compiled
        for program in ("pass", "import halftone"):
            times.append(min(child_seconds([sys.executable, "-c", program], settings) for _ in range(10)))
    return times[1] - times[0]


def child_seconds(command, settings):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    c = c_loops(Path(sys.argv[1]).resolve())
    rows = {"add(a, b), generated": (c.add, "add(a, b)"), "a + b": (c.add, "a + b"), "a.add(b)": (c.add, "a.add(b)"),
            "ht.add(a, b)": (c.add, "ht.add(a, b)"), "a + 1.5": (c.add_scalar, "a + 1.5"),
            "a.dtype": (c.dtype, "a.dtype"), "a.shape": (c.shape, "a.shape")}
    loops = {name: (in_c, in_python(statement)) for name, (in_c, statement) in rows.items()}
    least = {name: [1e9, 1e9] for name in rows}
    for _ in range(ROUNDS):
        for name, pair in loops.items():
            least[name] = [min(known, run(CALLS)) for known, run in zip(least[name], pair)]
    for name, (in_c, here) in least.items():
        print(f"{name:22} C {in_c:6.0f} ns   Python {here:6.0f} ns   {here - in_c:6.0f} ns more   "
              f"{here / in_c:5.2f} times")
    print(f"import halftone: {import_seconds() * 1e3:.0f} ms of CPU time")


if __name__ == "__main__":
    main()
