"""As overhead.c, through the Python binding."""

import time

import halftone as ht

ROUNDS, CALLS = 400, 2_000


def main():
    a = b = ht.Tensor.zeros(ht.default_device(), "f32", [64, 64])
    least = 1e9
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            a.add(b)  # the result is released at once: nothing refers to it
        least = min(least, (time.perf_counter_ns() - begin) / CALLS)
    print(f"Python: {least:.0f} ns")


main()
