#!/usr/bin/python3
"""Trains a small network with a trainer, as docs/trainer.md explains. It is samples/c/train_classifier.c: the losses are
equal."""

import argparse

import halftone as ht
from halftone import nn


def points(device: ht.Device, state: int, count: int = 2000) -> ht.Batches:
    """Points of a square; the class tells the diagonal of the point's quadrant, and whether it is near the centre."""
    numbers, classes = [], []
    for _ in range(2 * count):
        state = (state * 1664525 + 1013904223) % 2**32
        numbers.append((state >> 16) / 32768 - 1)
    rows = list(zip(numbers[::2], numbers[1::2]))
    classes = [int(x * y > 0) + 2 * int(x * x + y * y < 0.5) for x, y in rows]
    return ht.Batches(ht.Sampler(count, 50), [ht.tensor(rows, device=device), ht.tensor(classes, device=device)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("precision", nargs="?", default="bf16", help="fp32, bf16, fp16 or a recipe")
    parser.add_argument("checkpoint", nargs="?", help="a directory to save checkpoints in and to go on from")
    flags = parser.parse_args()
    device = ht.Device("cpu")
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 4))
    saving = {"checkpoint": flags.checkpoint, "checkpoint_every": 50, "resume": True} if flags.checkpoint else {}
    trainer = ht.Trainer(model, points(device, 1), precision=flags.precision, epochs=5, lr=1e-2, max_grad_norm=1.0,
                         evaluate_every=50, **saving)
    trainer.set_evaluation(points(device, 2))
    while trainer.next() != ht.TrainerPhase.DONE:
        with trainer.turn():
            loss = ht.cross_entropy(model(trainer.tensor(0)), trainer.tensor(1))
            trainer.take_loss(loss)
    progress = trainer.describe()
    print(f"step {progress.step}: loss of other points {progress.evaluation_loss:.6f}")


if __name__ == "__main__":
    main()
