"""The command halftone-run of a wheel, which contains the program beside the library. help(): halftone-run --help."""

import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).with_name("halftone-run")
    os.execv(program, [str(program), *sys.argv[1:]])
