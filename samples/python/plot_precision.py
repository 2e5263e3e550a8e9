#!/usr/bin/python3
"""Draws six plots of what formats of few digits do to numbers, with matplotlib (pip install halftone matplotlib).

    python3 samples/python/plot_precision.py -o precision.png
    python3 samples/python/plot_precision.py run.jsonl another.jsonl -o precision.png

The plots are: the relative error of each format; its dynamic range; the share of gradients that it loses, by their size;
the loss scale that gradients need; sums that stop; and the loss of the runs whose records are given, or, without one, the
ratio of signal to error. The numbers come from halftone/analysis.h; halftone-report draws all of a record.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # writes files, and needs no display
from matplotlib import pyplot  # noqa: E402

import halftone as ht  # noqa: E402

FORMATS = {"FP32": ht.Format.F32, "FP16": ht.Format.F16, "BF16": ht.Format.BF16, "E4M3": ht.Format.E4M3,
           "E5M2": ht.Format.E5M2}
METHODS = {"naive": ht.SumMethod.NAIVE, "pairwise": ht.SumMethod.PAIRWISE, "Kahan": ht.SumMethod.KAHAN}
# Okabe and Ito: people with colour-blindness distinguish them.
COLOURS = dict(zip(FORMATS, ("#7a7a7a", "#0072b2", "#d55e00", "#009e73", "#cc79a7")))
SAMPLES = 100_000
DEVIATIONS = [10.0 ** -exponent for exponent in range(11)]
ADDED, TIMES = 1e-4, 100_000  # the exact sum is 10


def errors_of(numbers: ht.Tensor) -> dict[str, Any]:
    return {name: numbers.analyze_rounding(format) for name, format in FORMATS.items()}


def plot_errors(axes: Any, errors: dict[str, Any]) -> None:
    places = range(len(FORMATS))
    for shift, title, values in ((-0.2, "mean", [errors[name].mean_error for name in FORMATS]),
                                 (0.2, "99 % are below", [errors[name].p99_error for name in FORMATS])):
        axes.bar([place + shift for place in places], values, 0.38, label=title, alpha=1.0 if shift < 0 else 0.5,
                 color=list(COLOURS.values()))
    axes.set(title="Relative error of N(0, 1)", yscale="log", ylabel="relative error", xticks=places, xticklabels=FORMATS)
    axes.legend()


def plot_ranges(axes: Any) -> None:
    for place, (name, format) in enumerate(FORMATS.items()):
        info = ht.format_describe(format)
        low, normal, high = (math.log10(value) for value in (info.smallest_subnormal, info.smallest_normal, info.largest))
        axes.barh(place, normal - low, left=low, color=COLOURS[name], alpha=0.4)
        axes.barh(place, high - normal, left=normal, color=COLOURS[name])
        axes.text(high + 1, place, f"{info.range_db:.0f} dB", va="center", fontsize=8)
    axes.set(title="Dynamic range (pale: subnormal numbers)", xlabel="magnitude, power of ten", xlim=(-48, 54),
             yticks=range(len(FORMATS)), yticklabels=FORMATS)
    axes.invert_yaxis()


def plot_gradients(lost: Any, scales: Any, normal: ht.Tensor) -> None:
    by_deviation = [errors_of(normal * deviation) for deviation in DEVIATIONS]
    for name in FORMATS:
        lost.plot(DEVIATIONS, [errors[name].underflow_share for errors in by_deviation], "o-", ms=3, label=name,
                  color=COLOURS[name])
        scales.plot(DEVIATIONS, [errors[name].loss_scale for errors in by_deviation], "o-", ms=3, label=name,
                    color=COLOURS[name])
    lost.set(title="Gradients that become 0", xscale="log", xlabel="standard deviation", ylabel="share")
    scales.set(title="Largest loss scale without overflow", xscale="log", yscale="log", xlabel="standard deviation",
               ylabel="loss scale")
    scales.set_yscale("log", base=2)
    for axes in (lost, scales):
        axes.legend(fontsize=8)


def plot_sums(axes: Any) -> None:
    added = ht.tensor([ADDED], dtype="f64").broadcast_to([TIMES])
    for shift, (title, method) in zip((-0.27, 0.0, 0.27), METHODS.items()):
        values = [added.sum_in(format, method) for format in FORMATS.values()]
        axes.bar([place + shift for place in range(len(FORMATS))], values, 0.25, label=title)
    axes.axhline(ADDED * TIMES, color="black", lw=1, ls="--")
    axes.set(title=f"{ADDED} added {TIMES:,} times", ylabel="sum", xticks=range(len(FORMATS)), xticklabels=FORMATS)
    axes.legend(fontsize=8, loc=(0.62, 0.45))


def plot_signal(axes: Any, errors: dict[str, Any]) -> None:
    axes.bar(list(FORMATS), [errors[name].snr_db for name in FORMATS], color=list(COLOURS.values()))
    axes.set(title="Signal to error of N(0, 1)", ylabel="dB")


def steps_of(record: Path) -> tuple[str, list[dict[str, Any]]]:
    """The label of a run, and its steps. A last line that is not complete is left out."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    label = next((line["label"] for line in lines if line["record"] == "run" and "label" in line), record.name)
    return label, [line for line in lines if line["record"] == "step"]


def plot_losses(axes: Any, records: list[Path]) -> None:
    for record in records:
        label, steps = steps_of(record)
        skipped = sum(step.get("outcome") == "skipped" for step in steps)
        known = [(step["step"], step["loss"]) for step in steps if step.get("loss") is not None]
        axes.plot(*(zip(*known) if known else ([], [])), lw=1, label=f"{label}: {skipped} of {len(steps)} steps skipped")
    axes.set(title="Loss", xlabel="step")
    axes.legend(fontsize=8)


def draw(records: list[Path], output: Path) -> None:
    ht.manual_seed(0)
    normal = ht.randn(SAMPLES, dtype="f64")
    errors = errors_of(normal)
    figure, axes = pyplot.subplots(2, 3, figsize=(15, 8.5), layout="constrained")
    plot_errors(axes[0, 0], errors)
    plot_ranges(axes[0, 1])
    plot_gradients(axes[0, 2], axes[1, 0], normal)
    plot_sums(axes[1, 1])
    if records:
        plot_losses(axes[1, 2], records)
    else:
        plot_signal(axes[1, 2], errors)
    figure.savefig(output, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", nargs="*", type=Path, help="records of runs, which are JSON lines")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file of the picture: .png, .svg, .pdf")
    flags = parser.parse_args()
    draw(flags.record, flags.output)


if __name__ == "__main__":
    main()
