#!/usr/bin/env python3
"""The table of predicted steps in docs/many-processes.md is what the program prints: step_prediction_test.py PROGRAM"""

import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/many-processes.md"

table = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
if table.count("\n") < 10 or table not in PAGE.read_text(encoding="utf-8"):
    print(f"{PAGE} does not hold this table:\n{table}", end="")
    sys.exit(1)
