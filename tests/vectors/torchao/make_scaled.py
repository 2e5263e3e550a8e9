#!/usr/bin/env python3
"""Writes tests/vectors/scaled.json: codes and scales of torchao's MX and NVFP4 tensors. --check compares the file.

  python3 -m venv env && env/bin/pip install torch==2.15.0 torchao==0.18.0 numpy
  env/bin/python tests/vectors/torchao/make_scaled.py
"""
import argparse
import json
import sys
from pathlib import Path

import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

FILE = Path(__file__).resolve().parents[1] / "scaled.json"
FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.float4_e2m1fn_x2}
MODES = {"down": ScaleCalculationMode.FLOOR, "up": ScaleCalculationMode.RCEIL}
COLUMNS = 64


def noise(rows: int, spread: float) -> torch.Tensor:
    """Numbers of many sizes, in [-1, 1] times powers of two of a standard deviation of `spread`."""
    generator = torch.Generator().manual_seed(int(8 * spread) + rows)
    exponents = torch.round(torch.randn(rows, COLUMNS, generator=generator) * spread)
    return torch.rand(rows, COLUMNS, generator=generator).mul(2).sub(1) * torch.exp2(exponents)


def grid() -> torch.Tensor:
    """Every BF16 mantissa from 1 to 8, which has the ties of all formats, beside 6, 448 or 57344 times one."""
    steps = torch.arange(3 * 128, dtype=torch.float32).reshape(-1, COLUMNS)
    numbers = torch.exp2(torch.floor(steps / 128)) * (1 + steps % 128 / 128)
    rows = torch.cat([numbers, -numbers, numbers / 64])
    rows[:, ::16] = torch.tensor([6.0, 448.0, 57344.0, 500.0, 7.0, 1.75, 1.0, 5.0, 4.0]).repeat(2)[:, None]
    return rows


def blocks_at_the_ends() -> torch.Tensor:
    """Blocks of zeros, of one number, and of numbers near both ends of FP32's range."""
    rows = torch.zeros(8, COLUMNS)
    rows[1, 5] = 3.0
    rows[2] = -0.0
    rows[3] = torch.linspace(-1, 1, COLUMNS) * 3e38
    rows[4] = torch.linspace(-2.0**-100, 2.0**-100, COLUMNS)
    rows[5, :32] = 2.0**-90
    rows[6] = 448 * 2.0**100
    rows[7] = torch.linspace(1e-3, 1e3, COLUMNS)
    return rows


INPUTS = {"noise": noise(16, 0), "many-sizes": noise(16, 6), "grid": grid(), "ends": blocks_at_the_ends()}


def hex_rows(matrix: torch.Tensor) -> list[str]:
    """Each row as the hexadecimal digits of its bytes in memory."""
    return [bytes(row.contiguous().view(torch.uint8).tolist()).hex() for row in matrix]


def vector(name: str, x: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, **fields) -> dict:
    return {"name": name, **fields, "columns": COLUMNS, "input": hex_rows(x), "scales": hex_rows(scales),
            "codes": hex_rows(codes)}


def mx_vectors():
    for name, x in INPUTS.items():
        for format_name, dtype in FORMATS.items():
            for rule, mode in MODES.items():
                scales, codes = to_mx(x.bfloat16(), dtype, 32, mode)
                yield vector(f"mx_1x32/{format_name}/{rule}/{name}", x.bfloat16(), scales, codes, layout="mx_1x32",
                             format=format_name, scale_rounds_up=rule == "up")


def nv_vectors():
    for name, x in INPUTS.items():
        x = x.bfloat16()
        scale = per_tensor_amax_to_scale(x.abs().amax())
        scales, codes = nvfp4_quantize(x, 16, scale)
        yield vector(f"nv_1x16/e2m1/{name}", x, scales.view(x.shape[0], -1), codes, layout="nv_1x16", format="e2m1",
                     tensor_scale=hex_rows(scale.reshape(1, 1))[0])


def text_of_file() -> str:
    rows = ",\n".join("  " + json.dumps(row) for row in [*mx_vectors(), *nv_vectors()])
    return f'{{\n"format": "halftone-vectors/1",\n"topic": "scaled",\n"vectors": [\n{rows}\n]\n}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the file instead of writing it")
    text = text_of_file()
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE.name} is not what torchao computes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
