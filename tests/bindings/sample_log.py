"""Runs samples and reads their logs."""

import json
import subprocess
import sys
from array import array
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "samples/python"


def python_sample(name):
    return [sys.executable, "-W", "error", SAMPLES / name]


def run(*command):
    """Returns what the program printed; in a log of bytes that are no text, other letters stand for them."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8",
                          errors="replace", timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def records(path):
    """The steps of a log: what both programs compute, with losses as FP32."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["step"], array("f", [row["loss"]])[0], row["lr"], row["loss_scale"], row["outcome"],
             row["grad_norm"]) for row in rows]
