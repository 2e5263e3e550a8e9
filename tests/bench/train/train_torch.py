#!/usr/bin/env python3
"""Times steps of training in PyTorch, with the models of train_bench:

    train_torch.py [--model mlp|cnn|gpt] [--precision fp32|bf16|fp16] [--threads N] [--rounds N]

Times are CPU time with one thread, else wall time. The step is zero_grad, forward under autocast, loss, backward, AdamW,
with fp16 the loss scaler's part. Peak bytes are the growth of the process's resident memory, since PyTorch does not count
those of the CPU. compare runs it in turns with train_bench.
"""
import argparse
import resource
import statistics
import time

import torch
from torch import nn

BATCH = 128
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LAYERS, WIDTH, HEADS, CONTEXT, GPT_BATCH, BYTES = 6, 384, 6, 256, 8, 256


def mlp():
    module = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return module, torch.rand(BATCH, 784), torch.arange(BATCH) * 7 % 10, BATCH


def cnn():
    module = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                           nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                           nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))
    return module, torch.rand(BATCH, 1, 28, 28), torch.arange(BATCH) * 7 % 10, BATCH


class Block(nn.Module):
    """A pre-norm layer of a GPT."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, context, _ = x.shape
        q, k, v = (part.view(batch, context, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, context, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """A GPT over bytes with learned positions."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(BYTES, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, BYTES, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(CONTEXT))
        return self.head(self.norm(self.blocks(x)))


def gpt():
    values = torch.arange(GPT_BATCH * CONTEXT + 1) ** 2 % 251
    return Gpt(), values[:-1].view(GPT_BATCH, CONTEXT), values[1:], GPT_BATCH * CONTEXT


MODELS = {"mlp": mlp, "cnn": cnn, "gpt": gpt}


def resident_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(model, precision, rounds):
    torch.manual_seed(0)
    before = resident_bytes()
    module, inputs, targets, items = MODELS[model]()
    dtype = DTYPES[precision]
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cpu", enabled=precision == "fp16")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype, enabled=precision != "fp32"):
            logits = module(inputs)
        logits = logits.reshape(-1, logits.shape[-1]).float()
        loss = nn.functional.cross_entropy(logits, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    for _ in range(3):
        step()
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    times = []
    for _ in range(rounds):
        begin = clock()
        loss = step()
        times.append(clock() - begin)
    peak = (resident_bytes() - before) / 2**20
    print(f"{model:4} {precision:4} {min(times) * 1e3:9.2f} {statistics.median(times) * 1e3:9.2f} "
          f"{items / min(times):11.0f} {'tokens' if model == 'gpt' else 'images':6} {peak:9.1f}  {loss:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--precision", choices=DTYPES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for model in MODELS if options.model is None else [options.model]:
        for precision in DTYPES if options.precision is None else [options.precision]:
            measure(model, precision, options.rounds)


if __name__ == "__main__":
    main()
