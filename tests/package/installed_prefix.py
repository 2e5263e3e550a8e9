"""An installed halftone whose prefix was moved after the installation, and the ways to compile a user's program against
it.
"""
import os
import shlex
import shutil
import subprocess
from pathlib import Path


def run(*command, **options) -> str:
    """Returns standard output; a failure shows all output of the command."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InstalledPrefix:
    """Installs a build tree under `folder` and moves it; the new path contains a space."""

    def __init__(self, cmake: str, build: Path, folder: Path):
        first, self.path = folder / "installed", folder / "moved here"
        run(cmake, "--install", build, "--prefix", first)
        shutil.move(first, self.path)
        self.first = first
        self.pkgconfig = next(self.path.rglob("halftone.pc")).parent
        self.libraries = next(self.path.rglob("libhalftone.a")).parent

    def pkg_config(self, *arguments: str, package: str = "halftone") -> list[str]:
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.pkgconfig))
        return shlex.split(run("pkg-config", *arguments, package, env=environment))

    def run_program(self, program: Path) -> str:
        return run(program, env=dict(os.environ, LD_LIBRARY_PATH=str(self.libraries)))
