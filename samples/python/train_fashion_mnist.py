#!/usr/bin/python3
"""Trains a network of three linear layers on Fashion-MNIST with AdamW and prints its accuracy on the test images.

It is samples/c/train_fashion_mnist.c in Python: with the same flags and seed it computes the same losses.
"""

import argparse
import gzip
import json
from pathlib import Path

import halftone as ht
from halftone import nn

DIRECTORY = "/usr/share/datasets/fashion-mnist"  # Debian: dataset-fashion-mnist
TEST_BATCH = 1000
DTYPES = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}


def read_idx(path, ndim):
    """The numbers of a file in MNIST's format: a header of big-endian sizes, then bytes."""
    content = gzip.decompress(path.read_bytes())
    begin = 4 + 4 * ndim
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, begin, 4)]
    return memoryview(content)[begin:].cast("B", shape)


def load(folder, part, device):
    images = ht.tensor(read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3), device=device)
    labels = ht.tensor(read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1), device=device)
    return images.unsqueeze(1), labels.to("i64")


def make_model(device):
    return nn.Sequential(
        nn.Rescaling(1 / 255, 0),
        nn.Flatten(),
        nn.Linear(28 * 28, 512, device=device),
        nn.ReLU(),
        nn.Linear(512, 512, device=device),
        nn.ReLU(),
        nn.Linear(512, 10, device=device),
    )


def train(model, data, flags, device):
    dtype = DTYPES[flags.precision]
    total_steps = min(flags.epochs * len(data), flags.steps or flags.epochs * len(data))
    optimizer = ht.Optimizer.adamw(model, lr=flags.lr, compute_dtype=dtype)
    optimizer.set_schedule(ht.Schedule.cosine(total_steps, 0.0))
    # In fp16 the loss is scaled, so that small gradients do not underflow.
    scaler = ht.GradScaler(device, enabled=flags.precision == "fp16")
    for step in range(1, total_steps + 1):
        images, labels = data.next()
        with ht.autocast(dtype):
            loss = ht.cross_entropy(model(images), labels)
        lr = optimizer.lr
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        yield {"step": step, "loss": loss.item(), "lr": lr}


def accuracy(model, images, labels, dtype):
    right = 0.0
    with ht.no_grad(), ht.autocast(dtype):
        for begin in range(0, len(labels), TEST_BATCH):
            batch = labels[begin : begin + TEST_BATCH]
            right += ht.accuracy(model(images[begin : begin + TEST_BATCH]), batch).item() * len(batch)
    return right / len(labels)


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DIRECTORY, help="folder of the four data files")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="stop after this number of steps")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--precision", choices=DTYPES, default="bf16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="write one JSON object per step to this file")
    return parser.parse_args()


def main():
    flags = parse_flags()
    device = ht.Device("cpu", ht.Context(seed=flags.seed))
    images, labels = load(flags.data, "train", device)
    test_images, test_labels = load(flags.data, "t10k", device)
    data = ht.DataLoader(images, labels, batch_size=flags.batch, seed=flags.seed)
    model = make_model(device)
    records = []
    for record in train(model, data, flags, device):
        records.append(record)
        if record["step"] % 100 == 0:
            print(f"step {record['step']}: loss {record['loss']:.4f}", flush=True)
    if flags.log:
        flags.log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    print(f"accuracy {accuracy(model, test_images, test_labels, DTYPES[flags.precision]):.4f}")


if __name__ == "__main__":
    main()
