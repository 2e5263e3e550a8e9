#!/usr/bin/python3
"""Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images.

It is samples/c/train_fashion_mnist.c in Python: with the same flags and seed it computes the same losses. Under
halftone-run several processes train together:

    halftone-run -n 2 python3 samples/python/train_fashion_mnist.py --sharding full
"""

from __future__ import annotations

import gzip
from pathlib import Path

import halftone as ht
from halftone import nn

import training

DIRECTORY = "/usr/share/datasets/fashion-mnist"  # Debian: dataset-fashion-mnist
TEST_BATCH = 1000


def read_idx(path: Path, ndim: int) -> memoryview:
    """The numbers of a file in MNIST's format: a header of big-endian sizes, then bytes."""
    content = gzip.decompress(path.read_bytes())
    begin = 4 + 4 * ndim
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, begin, 4)]
    return memoryview(content)[begin:].cast("B", shape)


def load(folder: Path, part: str, device: ht.Device) -> tuple[ht.Tensor, ht.Tensor]:
    images = ht.tensor(read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3), device=device)
    labels = ht.tensor(read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1), device=device)
    return images.unsqueeze(1), labels.to("i64")


def make_mlp(device: ht.Device) -> ht.Module:
    return nn.Sequential(
        nn.Rescaling(1 / 255, 0),
        nn.Flatten(),
        nn.Linear(28 * 28, 512, device=device),
        nn.ReLU(),
        nn.Linear(512, 512, device=device),
        nn.ReLU(),
        nn.Linear(512, 10, device=device),
    )


def make_cnn(device: ht.Device) -> ht.Module:
    return nn.Sequential(
        nn.Rescaling(1 / (255 * 0.353), -0.286 / 0.353),  # to mean 0 and deviation 1, since convolutions pad with 0
        nn.Conv2d(1, 32, 3, 3, padding_h=1, padding_w=1, device=device),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(32, 64, 3, 3, padding_h=1, padding_w=1, device=device),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 128, device=device),
        nn.ReLU(),
        nn.Linear(128, 10, device=device),
    )


def train(trainer: training.Trainer, data: ht.DataLoader) -> None:
    for record in trainer.steps(trainer.flags.batch, "images"):
        images, labels = data.next()
        with ht.autocast(trainer.dtype):
            loss = ht.cross_entropy(trainer.model(images), labels)
        record["loss"] = loss.item()
        trainer.backward(loss)


def accuracy(model: ht.Module, images: ht.Tensor, labels: ht.Tensor) -> float:
    right = 0.0
    for begin in range(0, len(labels), TEST_BATCH):
        batch = labels[begin : begin + TEST_BATCH]
        right += ht.accuracy(model(images[begin : begin + TEST_BATCH]), batch).item() * len(batch)
    return right / len(labels)


def main() -> None:
    parser = training.parser_with_flags(__doc__)
    parser.add_argument("--data", type=Path, default=DIRECTORY, help="folder of the four data files")
    parser.add_argument("--model", choices=("mlp", "cnn"), default="mlp", help="linear layers alone, or convolutions")
    parser.add_argument("--epochs", type=training.positive, default=5, help="passes over the training images")
    parser.add_argument("--batch", type=training.positive, default=128, help="images per step")
    flags = parser.parse_args()
    trainer = training.Trainer(flags)
    device, ranks = trainer.device, trainer.ranks
    images, labels = load(Path(flags.data), "train", device)
    test_images, test_labels = load(Path(flags.data), "t10k", device)
    # All steps have as many images, and all processes as many steps.
    data = ht.DataLoader(images, labels, batch_size=flags.batch // ranks.size, seed=flags.seed, drop_last=True,
                         rank=ranks.rank, world_size=ranks.size)
    model = make_mlp(device) if flags.model == "mlp" else make_cnn(device)
    trainer.begin(model, "linear", data.sampler, trainer.count_steps(len(data)))
    train(trainer, data)
    with trainer.finished() as prints:
        if prints:
            print(f"accuracy {accuracy(model, test_images, test_labels):.4f}")


if __name__ == "__main__":
    main()
