#!/usr/bin/python3
"""Records of runs that never were, for tests of what reads them: JSON lines of version 1, as the library writes them.

  report_records.py [--steps N] [--layers N] [--every K] [--plain] [--seed N] [--label NAME] > run.jsonl
"""
import argparse
import functools
import json
import math
import random

BINS = 255


def text_of(value):
    """A record has null for numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: text_of(one) for key, one in value.items()}
    return value


def line(**members):
    return json.dumps({key: text_of(value) for key, value in members.items() if value is not None})


def run_line(label, step=0, version=1):
    return line(step=step, record="run", version=version, library="0.1.0", label=label, device="cpu", threads=2)


@functools.lru_cache(maxsize=None)
def histogram(median, spread, elements):
    """The counts of numbers whose logarithms to base 2 are normal, as first and counts."""
    def below(exponent):
        return 0.5 * math.erfc((median - exponent) / (spread * math.sqrt(2)))

    counts = {}
    for bin_ in range(BINS):
        exponent = bin_ - 127
        count = round(elements * (below(exponent + 1) - below(exponent)))
        if count:
            counts[bin_] = count
    if not counts:
        return 0, []
    first, last = min(counts), max(counts)
    return first, [counts.get(bin_, 0) for bin_ in range(first, last + 1)]


def tensor_line(step, kind, name, median, spread=2.5, elements=4096, **members):
    median = round(4 * median) / 4  # few different ones are computed once
    first, counts = histogram(median, spread, elements)
    known = sum(counts)
    elements = max(elements, known)  # rounding may have made a few more
    zeros = members.pop("zeros", elements - known)
    least, largest = (2.0 ** (first - 127) * 1.25, 2.0 ** (first + len(counts) - 128) * 1.5) if counts else (None, 0.0)
    norm = 2.0 ** median * math.sqrt(elements) * 2
    return line(step=step, record="tensor", kind=kind, name=name, op=members.pop("op", None), dtype=members.pop("dtype", "f32"),
                elements=elements, zeros=zeros, infinities=members.pop("infinities", 0), nans=members.pop("nans", 0),
                largest=largest, least=least, norm=members.pop("norm", norm), scale=members.pop("scale", None),
                first=first, counts=counts, **members)


def layer_names(layers):
    parts = ("attention.query", "attention.key", "attention.value", "attention.output", "mlp.up", "mlp.down")
    return [f"blocks.{i // len(parts)}.{parts[i % len(parts)]}.weight" for i in range(layers)]


def tensor_lines(step, progress, names, scale, rng):
    for depth, name in enumerate(names):
        place = depth / max(1, len(names) - 1)
        median = -11 - 7 * place - 5 * progress + rng.gauss(0, 0.4)
        yield tensor_line(step, "gradient", name, median + math.log2(scale), scale=float(scale), dtype="f16",
                          noise=8.0 + 4 * place)
        yield tensor_line(step, "activation", name.rsplit(".", 1)[0], -1 + 2 * place, 1.5, op="linear", dtype="bf16")
        ratio = 7 + 4 * progress + rng.random()
        counts = [round(4096 * math.exp(-0.5 * ((d - ratio) / 1.5) ** 2) / 3.76) for d in range(3, 18)]
        lost = sum(counts[6:]) if depth % 3 == 0 else 0
        kept = counts[:6] if depth % 3 == 0 else counts
        yield tensor_line(step, "parameter", name, -4.5, 1.2, dtype="bf16", norm=2.0, lost=lost, still=10,
                          update_norm=2.0 ** (1 - ratio), ratio_first=3, ratio_counts=kept)


def step_line(step, steps, scale, is_skipped, names, rng):
    progress = step / steps
    loss = 1.8 + 6.5 * math.exp(-6 * progress) + rng.gauss(0, 0.08)
    if step % 2503 == 1700:
        loss += 2.5
    norm = math.inf if is_skipped else 0.4 + 3 * math.exp(-4 * progress) * (1 + 0.2 * rng.random())
    data, forward, backward, optimizer = 0.002, 0.041 + 0.003 * rng.random(), 0.083, 0.011
    seconds = data + forward + backward + optimizer + 0.004 + (0.2 if step % 997 == 500 else 0)
    memory = {"parameters": 96 << 20, "gradients": 96 << 20, "optimizer": 192 << 20,
              "activations": (300 << 20) + rng.randrange(8 << 20), "other": 12 << 20}
    return line(step=step, record="step", loss=loss, lr=1e-3 * min(1.0, 20 * progress), loss_scale=float(scale),
                outcome="skipped" if is_skipped else "stepped", overflow=rng.choice(names[:3]) if is_skipped and names else None,
                grad_norm=norm, items=4096, items_per_second=4096 / seconds, seconds=seconds,
                parts={"data": data, "forward": forward, "backward": backward, "optimizer": optimizer,
                       "other": seconds - data - forward - backward - optimizer},
                memory={**memory, "peak": 760 << 20})


def record(label="fp16", steps=200, layers=12, every=20, seed=1, plain=False):
    """The lines of a run with a loss scale that grows, skipped steps, samples each `every` steps, and events. `plain`: no
    tensors, no scale and no events."""
    rng, names, scale = random.Random(seed), layer_names(layers), 2.0 ** 14
    yield run_line(label)
    for step in range(1, steps + 1):
        if plain:
            members = json.loads(step_line(step, steps, 1, False, [], rng))
            yield line(**{key: members[key] for key in ("step", "record", "loss", "outcome", "seconds")})
            continue
        scale *= 2 if step % max(1, steps // 9) == 0 else 1
        is_skipped = scale > 2.0 ** 17
        yield step_line(step, steps, scale, is_skipped, names, rng)
        scale = scale / 4 if is_skipped else scale
        if step % every == 0:
            yield from tensor_lines(step, step / steps, names, scale, rng)
        if step % max(1, steps // 5) == 0:
            yield line(step=step, record="event", event="evaluation", loss=2.0 + 6 * math.exp(-6 * step / steps))
    if not plain:
        yield line(step=steps, record="event", event="spike", quantity="loss", value=5.5, mean=2.5, deviation=0.1)
        yield line(step=steps, record="event", event="spike", quantity="grad_norm", value=4.0, mean=0.9, deviation=0.2)
        yield line(step=steps, record="event", event="fallback", module="blocks.0.mlp.up", **{"from": "mxfp8", "to": "bf16"})
        yield line(step=steps, record="event", event="checkpoint")
        yield line(step=steps, record="event", event="of a newer library", something=[1, {"a": None}])
        yield line(step=steps, record="of a newer library", something=True)


def text(**settings):
    return "".join(one + "\n" for one in record(**settings))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("steps", 200), ("layers", 12), ("every", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--label", default="fp16")
    parser.add_argument("--plain", action="store_true")
    print(text(**vars(parser.parse_args())), end="")


if __name__ == "__main__":
    main()
