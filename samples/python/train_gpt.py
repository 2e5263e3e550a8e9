#!/usr/bin/python3
"""Trains a GPT on the bytes of a text in BF16 or by a low-precision recipe, prints its loss on the last tenth of the
text, and lets it write.

It is samples/c/train_gpt.c with its smallest model: the same number of steps gives the same loss. The processes of
halftone-run share each batch, the weights and the optimizer's state:

    halftone-run -n 2 python3 samples/python/train_gpt.py --steps 200
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any, ContextManager, Optional

import halftone as ht
from halftone import nn

TEXT = Path("build/data/bible-kjv.txt")  # samples/data/make_text writes it
CONTEXT, BATCH = 64, 16
VALIDATION_BATCHES = 100  # more would change the validation loss little
WARMUP_SHARE = 20  # the learning rate climbs in the first twentieth: the first moments of AdamW are noise
SAVE_EVERY = 500  # steps
RECIPES = {"bf16": None, "fp8-delayed": "delayed", "fp8-current": "current", "fp8-block": "block", "mxfp8": "mxfp8",
           "nvfp4": "nvfp4"}


class Windows:
    """Batches of windows over a text, which do not overlap: tokens, and the tokens that follow them."""

    def __init__(self, text: ht.Tensor, batch: int, is_training: bool, rank: int = 0, world_size: int = 1):
        # Training takes full batches in a random order, validation takes all windows in order.
        self.sampler = ht.Sampler(ht.window_count(text.numel(), CONTEXT, CONTEXT), batch, shuffle=is_training,
                                  drop_last=is_training, rank=rank, world_size=world_size)
        self.batches = ht.Batches.windows(self.sampler, text, CONTEXT, CONTEXT)

    def next_loss(self, model: ht.Module) -> tuple[ht.Tensor, int]:
        """The mean loss of the next batch, and the number of its tokens."""
        self.batches.advance()
        logits, targets = model(self.batches.tensor(0)), self.batches.tensor(1)
        return ht.cross_entropy(logits.reshape([-1, logits.shape[-1]]), targets.reshape([-1])), targets.numel()


def schedule(steps: int) -> ht.Schedule:
    warmup = steps // WARMUP_SHARE
    cosine = ht.Schedule.cosine(steps - warmup, 0.0)
    return ht.Schedule.warmup(warmup, 1 / (warmup + 1), cosine) if warmup else cosine


def validation_loss(model: ht.Module, windows: Windows) -> float:
    total, count = 0.0, 0
    for _ in range(min(VALIDATION_BATCHES, windows.sampler.batches_per_epoch())):
        with ht.scope():
            loss, size = windows.next_loss(model)
            total, count = total + loss.item() * size, count + size
    return total / count


def write(model: ht.Module, device: ht.Device, length: int) -> None:
    """Text that begins after a line's end. It depends on the weights and the seed alone."""
    tokens = model.eval().generate(ht.tensor([[ord("\n")]], device=device), new_tokens=length, context=CONTEXT,
                                   temperature=0.8)
    print("text:", bytes(tokens[0, 1:].tolist()).decode("utf-8", "replace"), sep="\n")


class Run:
    """Model, data and optimizer in each of the processes, of which the first one prints."""

    def __init__(self, text: bytes, steps: int, precision: str):
        self.context = ht.Context(seed=0)
        self.device = ht.Device("cpu", self.context)
        launch = ht.launch_read()
        self.is_first = launch.rank == 0
        self.group = ht.Group.launched(self.device) if launch.size > 1 else None
        tokens, cut = ht.tensor(text, device=self.device).to("i32"), len(text) - len(text) // 10
        self.windows = Windows(tokens[:cut], BATCH // launch.size, True, launch.rank, launch.size)
        self.held_out = Windows(tokens[cut:], BATCH, False)
        self.steps = min(steps, self.windows.sampler.batches_per_epoch())
        self.model = nn.Transformer(vocabulary=256, positions=CONTEXT, layers=2, width=64, heads=4, device=self.device)
        self.recipe = RECIPES[precision]
        if self.recipe:  # the layers keep the magnitudes from which fp8-delayed takes its scales
            self.model.set_recipe_matching(kind="linear", recipe=ht.Recipe(self.recipe))
        self.shared = None
        if self.group:
            self.shared = ht.Fsdp(self.model, self.group, unit_kind="transformer_block", unit_elements=1,
                                  weight_dtype="bf16")
        self.optimizer = ht.Optimizer.adamw(self.model, lr=1e-3, compute_dtype="bf16")
        self.optimizer.set_schedule(schedule(self.steps))

    def open_checkpoint(self, folder: str) -> ht.Checkpoint:
        if self.group:
            checkpoint = ht.Checkpoint.shared(self.context, folder, self.group)
        else:
            checkpoint = ht.Checkpoint(self.context, folder)
        checkpoint.add_module("model", self.model)
        checkpoint.add_optimizer("optimizer", self.optimizer)
        checkpoint.add_sampler("sampler", self.windows.sampler)
        return checkpoint

    def train(self, checkpoint: Optional[ht.Checkpoint]) -> None:
        done = max(0, checkpoint.load()) if checkpoint else 0  # -1: there is none yet
        for step in range(done + 1, self.steps + 1):
            with ht.scope():
                self.optimizer.zero_grad()
                with ht.autocast("bf16", recipe=self.recipe):
                    loss, _ = self.windows.next_loss(self.model)
                loss.backward()
                self.optimizer.clip_grad_norm(1.0)
                self.optimizer.step()
                if self.is_first and (step % 100 == 0 or step == self.steps):
                    print(f"step {step} of {self.steps}: loss {loss.item():.4f}", flush=True)
            if checkpoint and (step % SAVE_EVERY == 0 or step == self.steps):
                checkpoint.save(step)

    def finish(self, length: int) -> None:
        """Every process has all weights meanwhile, and the first one prints results."""
        gathered: ContextManager[Any] = self.shared.gathered() if self.shared else contextlib.nullcontext()
        with gathered, ht.no_grad(), ht.autocast("bf16", recipe=self.recipe):
            if self.is_first:
                print(f"validation loss {validation_loss(self.model, self.held_out):.6f}")
                write(self.model, self.device, length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=TEXT, help="the text; its last tenth is held out")
    parser.add_argument("--steps", type=int, default=10**9, help="stop after this number of steps")
    parser.add_argument("--generate", type=int, default=200, help="bytes of text to write at the end")
    parser.add_argument("--checkpoint", help="save checkpoints in this folder, and continue from the newest one")
    parser.add_argument("--precision", default="bf16", choices=RECIPES,
                        help="of linear layers; all else is computed in bf16")
    flags = parser.parse_args()
    run = Run(flags.text.read_bytes(), flags.steps, flags.precision)
    run.train(run.open_checkpoint(flags.checkpoint) if flags.checkpoint else None)
    run.finish(flags.generate)


if __name__ == "__main__":
    main()
