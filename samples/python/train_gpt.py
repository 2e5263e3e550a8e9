#!/usr/bin/python3
"""Trains a GPT on the bytes of a text with AdamW, prints its loss on the last tenth of the text, and lets it write.

It is samples/c/train_gpt.c in Python, for bytes: with the same flags and seed it computes the same losses.
samples/data/make_text writes the default text.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

import halftone as ht
from halftone import nn

import training

TEXT = Path("build/data/bible-kjv.txt")
PRESETS = {  # vocabulary, context, layers, width, heads
    "tiny": (256, 64, 2, 64, 4),
    "small": (256, 128, 4, 192, 6),
    "gpt2": (50257, 1024, 12, 768, 12),
}
SIZES = ("vocabulary", "context", "layers", "width", "heads")
RECOMPUTED = {"none": None, "full": "transformer_block", "selective": "multihead_attention"}
VALIDATION_BATCHES = 100  # more would change the validation loss little
WARMUP_SHARE = 20  # the learning rate climbs in the first twentieth: the first moments of AdamW are noise


class Windows:
    """Batches of windows over a part of the text, which do not overlap: tokens, and the tokens that follow."""

    def __init__(self, text: ht.Tensor, context: int, batch: int, seed: int = 0, rank: int = 0, world_size: int = 1,
                 training: bool = True):
        count = ht.window_count(text.numel(), context, context)
        # Training takes full batches, so that all processes have as many steps; validation takes all windows.
        self.sampler = ht.Sampler(count, batch, shuffle=training, drop_last=training, seed=seed, rank=rank,
                                  world_size=world_size)
        self.batches = ht.Batches.windows(self.sampler, text, context, context)

    def next(self) -> tuple[ht.Tensor, ht.Tensor]:
        self.batches.advance()
        return self.batches.tensor(0), self.batches.tensor(1)


def read_text(flags: argparse.Namespace, device: ht.Device) -> tuple[ht.Tensor, ht.Tensor]:
    """The bytes for training, and the last tenth, which is held out."""
    try:
        content = flags.text.read_bytes()
    except OSError as error:
        training.refuse(f"--text {flags.text}: {error.strerror}; samples/data/make_text writes {TEXT}")
    tokens = ht.tensor(content, device=device).to("i32")
    cut = len(content) - len(content) // 10
    return tokens[:cut], tokens[cut:]


def check_sizes(flags: argparse.Namespace, text: ht.Tensor, held_out: ht.Tensor) -> None:
    windows = ht.window_count(text.numel(), flags.context, flags.context)
    if windows < 1 or held_out.numel() <= flags.context:
        training.refuse(f"--context {flags.context}: the held-out text has {held_out.numel()} bytes")
    if flags.batch > windows:
        training.refuse(f"--batch {flags.batch}: the training text has {windows} windows")
    if flags.width % flags.heads:
        training.refuse(f"--heads {flags.heads}: does not divide the width {flags.width}")


def make_model(flags: argparse.Namespace, device: ht.Device) -> ht.Module:
    model = nn.Transformer(vocabulary=flags.vocabulary, positions=flags.context, layers=flags.layers,
                           width=flags.width, heads=flags.heads, device=device)
    kind = RECOMPUTED[flags.recompute]
    if kind is not None:
        model.set_recompute_matching(kind=kind)
    return model


def loss_of(model: ht.Module, windows: Windows) -> tuple[ht.Tensor, int]:
    """The mean loss of the next batch, and how many bytes it has."""
    tokens, targets = windows.next()
    logits = model(tokens)
    return ht.cross_entropy(logits.reshape([-1, logits.shape[-1]]), targets.reshape([-1])), targets.numel()


def train(trainer: training.Trainer, windows: Windows) -> None:
    flags, share = trainer.flags, 1.0 / trainer.flags.accumulate
    for record in trainer.steps(flags.accumulate * flags.batch * flags.context, "bytes"):
        for index in range(flags.accumulate):
            is_last = index == flags.accumulate - 1
            with contextlib.nullcontext() if is_last else trainer.ranks.no_sync():
                with ht.autocast(trainer.dtype):
                    loss, _ = loss_of(trainer.model, windows)
                record["loss"] += share * loss.item()
                trainer.backward(loss, share)


def validation_loss(model: ht.Module, windows: Windows) -> float:
    total, count = 0.0, 0
    for _ in range(min(VALIDATION_BATCHES, windows.sampler.batches_per_epoch())):
        with ht.scope():
            loss, size = loss_of(model, windows)
            total, count = total + loss.item() * size, count + size
    return total / count


def write(trainer: training.Trainer) -> None:
    """The text depends on the weights and the seed alone."""
    flags = trainer.flags
    print("text:")
    begin = ht.tensor([[ord("\n")]], device=trainer.device)
    written = trainer.model.eval().generate(begin, new_tokens=flags.generate, context=flags.context,
                                            top_k=flags.top_k or 0, top_p=flags.top_p,
                                            temperature=flags.temperature, seed=flags.seed)
    tokens = written[0, 1:].tolist()
    print(bytes(min(token, 255) for token in tokens).decode("utf-8", "replace"))


def parse_flags() -> argparse.Namespace:
    parser = training.parser_with_flags(__doc__)
    parser.add_argument("--text", type=Path, default=TEXT, help="the text; its last tenth is held out")
    parser.add_argument("--preset", choices=PRESETS, default="tiny", help="sizes of the model")
    for name in SIZES:
        parser.add_argument(f"--{name}", type=training.positive, help="instead of the preset's")
    parser.add_argument("--epochs", type=training.positive, default=1, help="passes over the training text")
    parser.add_argument("--batch", type=training.positive, default=16, help="windows of text per batch")
    parser.add_argument("--accumulate", type=training.positive, default=1, help="batches per step")
    parser.add_argument("--recompute", choices=RECOMPUTED, default="none",
                        help="less memory for more time: computes blocks, or their attention, again in backward")
    parser.add_argument("--generate", type=int, default=200, help="bytes of text to write at the end")
    parser.add_argument("--temperature", type=float, default=0.8, help="of the written text; 0: the most probable byte")
    parser.add_argument("--top-k", type=training.positive, help="draw from this number of the most probable bytes")
    parser.add_argument("--top-p", type=float, default=1.0, help="draw from the most probable bytes that reach this")
    flags = parser.parse_args()
    for name, size in zip(SIZES, PRESETS[flags.preset]):
        if getattr(flags, name) is None:
            setattr(flags, name, size)
    return flags


def main() -> None:
    flags = parse_flags()
    trainer = training.Trainer(flags)
    ranks = trainer.ranks
    text, held_out = read_text(flags, trainer.device)
    check_sizes(flags, text, held_out)
    windows = Windows(text, flags.context, flags.batch // ranks.size, flags.seed, ranks.rank, ranks.size)
    held_out_windows = Windows(held_out, flags.context, flags.batch, training=False)
    total = trainer.count_steps(windows.sampler.batches_per_epoch() // flags.accumulate)
    trainer.max_grad_norm = 1.0
    trainer.begin(make_model(flags, trainer.device), "transformer_block", windows.sampler, total,
                  total // WARMUP_SHARE)
    train(trainer, windows)
    with trainer.finished() as prints:
        if prints:
            print(f"validation loss {validation_loss(trainer.model, held_out_windows):.6f}")
            if flags.generate:
                write(trainer)


if __name__ == "__main__":
    main()
