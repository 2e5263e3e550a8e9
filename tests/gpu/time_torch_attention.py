#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention on a GPU, on the work of gpu_bench's attention and under its names:

    time_torch_attention.py [--rounds N]

BF16, context 4096, width 2048 in heads of 64 and 128, causal or not, forward alone and with backward; each of PyTorch's
engines that takes the work (flash, cuDNN). Prints `NAME VALUE UNIT REFERENCE`: the median of the rounds.
"""
import argparse
import statistics
import time

import torch
from torch.nn import attention, functional

BATCH, CONTEXT, WIDTH = 4, 4096, 2048  # must match gpu_bench
CALLS = 10
ENGINES = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}


def seconds_of(call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / CALLS


def rate_of(depth, causal, backward, rounds):
    shape = (BATCH, WIDTH // depth, CONTEXT, depth)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=backward) for _ in range(3))
    gradient = torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def call():
        output = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        if backward:
            torch.autograd.grad(output, (q, k, v), gradient)

    seconds_of(call)
    products = (7 if backward else 2) * (0.5 if causal else 1)
    work = products * 2 * BATCH * (WIDTH // depth) * CONTEXT * CONTEXT * depth
    return work / statistics.median(seconds_of(call) for _ in range(rounds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    for depth in (64, 128):
        for causal in (False, True):
            for backward in (False, True):
                name = f"attention{'_step' if backward else ''}_bf16_{depth}{'_causal' if causal else ''}"
                for engine, backend in ENGINES.items():
                    try:
                        with attention.sdpa_kernel(getattr(attention.SDPBackend, backend)):
                            rate = rate_of(depth, causal, backward, rounds)
                    except (AttributeError, RuntimeError) as error:
                        print(f"time_torch_attention: {engine} does not take {name}: {error}".replace("\n", " "))
                        continue
                    print(f"{name} {rate / 1e12:.6g} TFLOP/s torch-{torch.__version__}-{engine}", flush=True)


if __name__ == "__main__":
    main()
