#!/usr/bin/env python3
"""Times training steps of GPT-2 with 124 million weights in PyTorch on a GPU, as train_gpt --preset gpt2 takes them:

    train_torch_gpt2.py [--batch N] [--context N] [--steps N] [--vocabulary N]

BF16 autocast, compiled, fused AdamW, scaled_dot_product_attention. Prints tokens per second: the median of the steps after
the first ten.
"""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS = 12, 768, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, context, _ = x.shape
        q, k, v = (part.view(batch, context, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, context, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """The head shares the embedding's weights."""

    def __init__(self, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(context, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens, targets):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.blocks(self.tokens(tokens) + self.positions(places)))
        logits = functional.linear(x, self.tokens.weight)
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    for name, usual in (("batch", 16), ("context", 1024), ("steps", 40), ("vocabulary", 50304)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = torch.compile(Gpt2(options.vocabulary, options.context).cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    shape = (options.batch, options.context)
    tokens, targets = (torch.randint(options.vocabulary, shape, device="cuda") for _ in range(2))
    times = []
    for _ in range(options.steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    rate = options.batch * options.context / statistics.median(times[10:])
    print(f"gpt2_tokens {rate:.6g} tokens/s torch-{torch.__version__}")


if __name__ == "__main__":
    main()
