"""The parts of a training run that do not depend on the model and its data: flags, processes, AdamW with a schedule,
the gradient scaler, the log, checkpoints and the progress.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, ContextManager, NoReturn, Optional

import halftone as ht

try:
    tqdm: Any = importlib.import_module("tqdm").tqdm
except ImportError:
    tqdm = None

DTYPES = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}
SHARDINGS = ("none", "ddp", "optimizer", "gradients", "full", "hybrid")
OFFLOADS = {"none": "none", "memory": "host", "file": "file"}
HYBRID_RANKS = 2  # processes that have the parts of one network
Record = dict[str, Any]


class _Help(argparse.RawDescriptionHelpFormatter):
    """Tells the usual value of each flag that has one."""

    def _get_help_string(self, action: argparse.Action) -> Optional[str]:
        has_none = action.default is None or action.default is False or action.default == argparse.SUPPRESS
        return action.help if has_none else f"{action.help} (%(default)s)"


def parser_with_flags(summary: Optional[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=summary, formatter_class=_Help)
    parser.add_argument("--precision", choices=DTYPES, default="bf16", help="of weights and activations in products")
    parser.add_argument("--device", default="cpu", help="where to train")
    parser.add_argument("--steps", type=positive, help="stop after this number of steps")
    parser.add_argument("--lr", type=float, default=1e-3, help="initial learning rate")
    parser.add_argument("--schedule", choices=("cosine", "constant"), default="cosine", help="of the learning rate")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights and the order of the data")
    parser.add_argument("--threads", type=int, default=0, help="that compute; 0: as many as the machine allows")
    parser.add_argument("--sharding", choices=SHARDINGS, default="none",
                        help="what the processes of halftone-run share: ddp: each batch; optimizer, gradients, full: "
                        "its state, gradients and weights, too; hybrid: full in pairs of processes")
    parser.add_argument("--offload", choices=OFFLOADS, default="none", help="where shared state is while it is not used")
    parser.add_argument("--offload-path", default=".", help="the folder of the file of --offload")
    parser.add_argument("--log", type=Path, help="write one JSON object per step to this file")
    parser.add_argument("--checkpoint", help="save checkpoints in this folder, the last one when the run ends")
    parser.add_argument("--checkpoint-every", type=positive, default=500, help="steps between two checkpoints")
    parser.add_argument("--resume", action="store_true", help="continue from the newest checkpoint, if there is one")
    return parser


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def refuse(message: str) -> NoReturn:
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(2)


class Ranks:
    """The processes that train one network together. A run without --sharding is one process, and has no group."""

    def __init__(self, device: ht.Device, flags: argparse.Namespace):
        launch, sharding = ht.launch_read(), str(flags.sharding)
        self.device, self.sharding, self.flags = device, sharding, flags
        self.group: Optional[ht.Group] = None
        self.replica: ht.DistributedDataParallel | ht.Fsdp | None = None
        self.rank, self.size = 0, 1
        if sharding == "none" and launch.size > 1:
            refuse(f"--sharding: {launch.launcher} started {launch.size} processes, which need ddp or another kind")
        if sharding == "none":
            return
        self.rank, self.size = launch.rank, launch.size
        if sharding == "hybrid" and (self.size % HYBRID_RANKS != 0 or self.size == HYBRID_RANKS):
            refuse(f"--sharding hybrid: needs an even number of processes, at least 4, not {self.size}")
        self.group = ht.Group.launched(device)

    def share(self, model: ht.Module, unit_kind: str, dtype: str) -> None:
        """Gives every process the first one's weights, or its part of them. From now on gradients are averaged."""
        if self.group is None:
            return
        if self.sharding == "ddp":
            self.replica = ht.DistributedDataParallel(model, self.group)
            return
        shards, others = self.group, None
        if self.sharding == "hybrid":  # neighbours are on one machine, where messages cost least
            shards = self.group.split(self.rank // HYBRID_RANKS, self.rank)
            others = self.group.split(self.rank % HYBRID_RANKS, self.rank)
        sharding = "full" if self.sharding == "hybrid" else self.sharding
        self.replica = ht.Fsdp(model, shards, others, sharding=sharding, unit_kind=unit_kind, unit_elements=1,
                               weight_dtype=dtype, offload=OFFLOADS[self.flags.offload],
                               offload_path=self.flags.offload_path)

    def no_sync(self) -> ContextManager[Any]:
        """Gradients stay in this process: those of all but the last backward of a step."""
        return contextlib.nullcontext() if self.replica is None else self.replica.no_sync()

    def gathered(self) -> ContextManager[Any]:
        """Every process has all weights, after the last step."""
        return self.replica.gathered() if isinstance(self.replica, ht.Fsdp) else contextlib.nullcontext()

    def agree(self, loss: float, signal_number: int) -> tuple[float, int]:
        """The mean of the losses, and a signal that any process has received."""
        if self.group is None:
            return loss, signal_number
        sums = ht.tensor([loss, float(signal_number == signal.SIGINT), float(signal_number == signal.SIGTERM)],
                         dtype="f64", device=self.device)
        self.group.all_reduce("sum", sums, sums)
        total, interrupted, terminated = sums.tolist()
        return total / self.size, signal.SIGINT if interrupted else signal.SIGTERM if terminated else 0


class Log:
    """One JSON object per step. Its lines are complete whenever the program ends."""

    def __init__(self, path: Optional[Path], steps_done: int):
        self.path = path
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if steps_done and path.exists() else []
        path.write_text("".join(lines[:steps_done]), encoding="utf-8")

    def write(self, record: Record) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({key: _loggable(key, value) for key, value in record.items()}) + "\n")


def _loggable(key: str, value: Any) -> Any:
    """JSON has no NaN and no infinity. Nine digits tell an FP32 value exactly, as the C sample writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(f"{value:.9g}") if key in ("loss", "items_per_second") else value


class Trainer:
    """One run: `model` and `sampler` are set by the program before begin()."""

    def __init__(self, flags: argparse.Namespace):
        if flags.resume and flags.checkpoint is None:
            refuse("--resume: needs --checkpoint, the folder to continue from")
        self.flags = flags
        self.dtype = DTYPES[flags.precision]
        self.context = ht.Context(seed=flags.seed, num_threads=flags.threads)
        self.device = ht.Device(flags.device, self.context)
        self.ranks = Ranks(self.device, flags)
        if flags.batch % self.ranks.size:
            refuse(f"--batch {flags.batch}: is no multiple of the {self.ranks.size} processes")
        self.max_grad_norm = 0.0
        self.steps_done = 0
        self.heard = 0  # a signal of this process
        self.signal = 0  # one that all processes have agreed on

    @property
    def is_first(self) -> bool:
        """The first process alone prints and writes."""
        return self.ranks.rank == 0

    def count_steps(self, batches: int) -> int:
        """All steps of the run, of so many batches an epoch."""
        total = int(self.flags.epochs) * max(1, batches)
        return min(total, self.flags.steps or total)

    def begin(self, model: ht.Module, unit_kind: str, sampler: ht.Sampler, total_steps: int, warmup: int = 0) -> None:
        """Makes optimizer and scaler, and loads a checkpoint to resume from."""
        self.model, self.total_steps = model, total_steps
        self.ranks.share(model, unit_kind, self.dtype)
        self.optimizer = ht.Optimizer.adamw(model, lr=self.flags.lr, compute_dtype=self.dtype)
        self.optimizer.set_schedule(self._schedule(warmup))
        # In fp16 the loss is scaled, so that small gradients do not underflow.
        self.scaler = ht.GradScaler(self.device, enabled=self.flags.precision == "fp16")
        self.checkpoint = self._open_checkpoint(sampler)
        self.log = Log(self.flags.log if self.is_first else None, self.steps_done)
        self.say(f"training in {self.dtype} on {self.flags.device}, processes: {self.ranks.size}, threads: "
                 f"{self.context.num_threads}, {total_steps} steps")

    def _schedule(self, warmup: int) -> ht.Schedule:
        if self.flags.schedule == "constant":
            schedule = ht.Schedule.constant()
        else:
            schedule = ht.Schedule.cosine(self.total_steps - warmup, 0.0)
        return ht.Schedule.warmup(warmup, 1 / (warmup + 1), schedule) if warmup else schedule

    def _open_checkpoint(self, sampler: ht.Sampler) -> Optional[ht.Checkpoint]:
        folder = self.flags.checkpoint
        if folder is None:
            return None
        ht.log_set_callback(lambda line: print(f"warning: {line}", file=sys.stderr))
        group = self.ranks.group
        checkpoint = (ht.Checkpoint(self.context, folder) if group is None
                      else ht.Checkpoint.shared(self.context, folder, group))
        checkpoint.add_module("model", self.model)
        checkpoint.add_optimizer("optimizer", self.optimizer)
        checkpoint.add_grad_scaler("scaler", self.scaler)
        checkpoint.add_sampler("sampler", sampler)
        step = checkpoint.load() if self.flags.resume else checkpoint.latest()
        if step >= 0 and not self.flags.resume:
            refuse(f"--checkpoint {folder}: holds a run of {step} steps; go on from there with --resume, or take "
                   "another folder")
        if step >= 0:
            self.say(f"going on after step {step}")
            self.steps_done = step
        return checkpoint

    def say(self, text: str) -> None:
        if self.is_first:
            print(text, flush=True)

    def steps(self, items: int, unit: str) -> Iterator[Record]:
        """A record for each step: the program adds gradients and sets record["loss"]; then the weights are updated.
        Each step has so many items on all processes together. Stops at SIGINT and SIGTERM after a whole step.
        """
        with _stop_signals(self), _Progress(self, unit) as progress:
            while self.steps_done < self.total_steps and not self.signal:
                record: Record = {"step": self.steps_done + 1, "loss": 0.0}
                begin = time.monotonic()
                self.optimizer.zero_grad()
                with ht.scope():
                    yield record
                    self._update(record)
                record["loss"], self.signal = self.ranks.agree(record["loss"], self.heard)
                record["items_per_second"] = items / (time.monotonic() - begin)
                self._end_step(record)
                progress.take(record["loss"], items)

    def backward(self, loss: ht.Tensor, share: float = 1.0) -> None:
        """Adds the gradients of the loss times `share`."""
        self.scaler.scale(loss if share == 1.0 else loss * share).backward()

    def _update(self, record: Record) -> None:
        # The first process alone has a log, but the norm of shared gradients needs all of them.
        is_logged = self.log.path is not None or isinstance(self.ranks.replica, ht.Fsdp)
        record["lr"] = self.optimizer.lr
        record["loss_scale"] = self.scaler.current_scale()
        if is_logged or self.max_grad_norm:
            self.scaler.unscale(self.optimizer)
        if is_logged:
            record["grad_norm"] = self.optimizer.grad_norm()
        if self.max_grad_norm:
            self.optimizer.clip_grad_norm(self.max_grad_norm)
        self.scaler.step(self.optimizer)
        record["outcome"] = "skipped" if self.optimizer.outcome().skipped else "stepped"
        self.scaler.update()

    def _end_step(self, record: Record) -> None:
        self.steps_done += 1
        self.log.write(record)
        ends = self.steps_done == self.total_steps or self.signal
        if self.checkpoint is not None and (ends or self.steps_done % self.flags.checkpoint_every == 0):
            self.checkpoint.save(self.steps_done)

    @contextlib.contextmanager
    def finished(self) -> Iterator[bool]:
        """After the last step every process has all weights, and the first one prints results: for it this is True."""
        if self.signal:
            self.say(f"stopped by {signal.Signals(self.signal).name} after step {self.steps_done} of "
                     f"{self.total_steps}")
            sys.exit(128 + self.signal)
        if isinstance(self.ranks.replica, ht.DistributedDataParallel):
            self.ranks.replica.close()
        with self.ranks.gathered(), ht.no_grad(), ht.autocast(self.dtype):
            yield self.is_first


@contextlib.contextmanager
def _stop_signals(trainer: Trainer) -> Iterator[None]:
    def stop(number: int, frame: Optional[FrameType]) -> None:
        trainer.heard = number

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Progress:
    """A bar by tqdm if it is installed and this is a terminal, else a line every hundred steps."""

    def __init__(self, trainer: Trainer, unit: str):
        self.trainer, self.unit = trainer, unit
        self.bar = None
        if tqdm is not None and trainer.is_first and sys.stderr.isatty():
            self.bar = tqdm(total=trainer.total_steps, initial=trainer.steps_done, unit="step")
        self.begin, self.items = time.monotonic(), 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def take(self, loss: float, items: int) -> None:
        step, self.items = self.trainer.steps_done, self.items + items
        if self.bar is not None:
            self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            self.bar.update()
        elif step % 100 == 0 or step == self.trainer.total_steps:
            rate = self.items / (time.monotonic() - self.begin)
            self.trainer.say(f"step {step} of {self.trainer.total_steps}: loss {loss:.4f}, {rate:.0f} {self.unit}/s")
