#!/usr/bin/env python3
"""Compares ../optimizers.json with PyTorch's optimizers in double precision. Run it by hand; no test needs PyTorch.

Lion is not in PyTorch, and a schedule or a scaler is applied here by hand: the learning rate and the gradients of the
file's own steps that were not skipped. Prints the largest difference of a weight for each optimizer.
"""
import json
import pathlib
import sys

import torch

FILE = pathlib.Path(__file__).resolve().parent.parent / "optimizers.json"
TOLERANCE = 1e-9  # the file has 13 digits


def make(vector, weights):
    o = dict(vector["options"])
    name = vector["optimizer"]
    common = {"lr": o["lr"], "weight_decay": o["weight_decay"]}
    if name == "sgd":
        return torch.optim.SGD([weights], momentum=o["momentum"], dampening=o["dampening"],
                               nesterov=bool(o["nesterov"]), **common)
    if name in ("adam", "adamw"):
        kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        return kind([weights], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"], **common)
    if name == "rmsprop":
        return torch.optim.RMSprop([weights], alpha=o["alpha"], eps=o["epsilon"], momentum=o["momentum"],
                                   centered=bool(o["centered"]), **common)
    return torch.optim.Adafactor([weights], beta2_decay=o["beta2_decay"], eps=(o["epsilon1"], o["epsilon2"]),
                                 d=o["clip_threshold"], **common)


def largest_difference(vector):
    rows = vector.get("rows")
    shape = (rows, -1) if rows else (-1,)
    weights = torch.nn.Parameter(torch.tensor(vector["weights"], dtype=torch.float64).reshape(shape))
    optimizer = make(vector, weights)
    worst = 0.0
    for gradient, expected in zip(vector["gradients"], vector["expected"]):
        if not expected["skipped"]:
            weights.grad = torch.tensor([float(g) for g in gradient], dtype=torch.float64).reshape(shape)
            if vector["clip_norm"] is not None:
                torch.nn.utils.clip_grad_norm_([weights], vector["clip_norm"])
            optimizer.step()
        got = weights.detach().flatten()
        wanted = torch.tensor(expected["weights"], dtype=torch.float64)
        worst = max(worst, float(((got - wanted).abs() / wanted.abs().clamp(min=1e-3)).max()))
    return worst


def main():
    worst, left_out = {}, []
    for vector in json.loads(FILE.read_text(encoding="utf-8"))["vectors"]:
        if vector["optimizer"] == "lion" or vector["schedule"] is not None:
            left_out.append(vector["name"])
            continue
        name = vector["optimizer"]
        count, largest = worst.get(name, (0, 0.0))
        worst[name] = (count + 1, max(largest, largest_difference(vector)))
    for name, (count, largest) in worst.items():
        print(f"{name}: {count} vectors, largest relative difference {largest:.1e}")
    print(f"left out: {', '.join(left_out)}")
    return 0 if all(largest < TOLERANCE for _, largest in worst.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
