"""Virtual environments with packages of PyPI, for tests."""

import subprocess
import sys

SKIPPED = 77


def install(folder, packages, probe):
    """Returns the interpreter of an environment that runs the statement `probe`; ends the test as skipped, with the
    reason, if the packages cannot be had.
    """
    interpreter = folder / "bin" / "python"
    if interpreter.exists() and subprocess.run([interpreter, "-c", probe], capture_output=True).returncode == 0:
        return interpreter
    for command in ([sys.executable, "-m", "venv", folder],
                    [interpreter, "-m", "pip", "-q", "install", "--retries", "0", "--timeout", "20", *packages]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            # venv prints the missing packages on standard output, in several lines.
            reason = " ".join(done.stderr.strip().splitlines()[-1:] or done.stdout.split())
            names = ", ".join(package for package in packages if not package.startswith("-"))
            print(f"skipped: {names} cannot be installed: {reason}")
            sys.exit(SKIPPED)
    return interpreter
