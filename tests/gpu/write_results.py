#!/usr/bin/env python3
"""Writes what tests/gpu/run measured: write_results.py RECORDS "GPU, DRIVER".

A line of the records is `test NAME STATE SECONDS` or `NAME VALUE UNIT REFERENCE`. They become results/GPU-DATE.json and
rows of the table in README.md, between the lines that mark it.
"""
import datetime
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"


def parse(lines):
    tests, figures = {}, []
    for line in lines:
        words = line.split()
        if len(words) == 4 and words[0] == "test":
            tests[words[1]] = {"state": words[2], "seconds": int(words[3])}
        elif len(words) == 4:
            figures.append({"name": words[0], "value": float(words[1]), "unit": words[2], "reference": words[3]})
    return {"tests": tests, "figures": figures}


def rows(device, date, results):
    states = ", ".join(f"{name} {test['state']}" for name, test in results["tests"].items())
    yield f"| {date} | {device} | tests | {states} | |\n"
    for figure in results["figures"]:
        yield f"| {date} | {device} | {figure['name']} | {figure['value']:.6g} {figure['unit']} | {figure['reference']} |\n"


def add_rows(text, new):
    head, rest = text.split(BEGIN)
    table, tail = rest.split(END)
    return head + BEGIN + table + "".join(new) + END + tail


def main():
    records, described = sys.argv[1:]
    device = described.split(",")[0].strip()
    date = datetime.date.today().isoformat()
    results = {"device": described, "date": date, **parse(Path(records).read_text(encoding="utf-8").splitlines())}
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    (folder / f"{name}-{date}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    readme = HERE / "README.md"
    readme.write_text(add_rows(readme.read_text(encoding="utf-8"), rows(device, date, results)), encoding="utf-8")


if __name__ == "__main__":
    main()
