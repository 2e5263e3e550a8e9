"""Attention and rotary embedding: masks, groups of heads, lengths that differ, nothing, NaN and infinities."""
import random

from case import INF, NAN, case, empty, error, leaf, run, tensor

NAME = "scaled_dot_product_attention"
# PyTorch multiplies bf16 and f16 weights and values after rounding the weights.
TOLERANCES = {"f64": (1e-13, 1e-14), "f32": (1e-6, 1e-6), "f16": (0.001, 5e-4), "bf16": (0.01, 0.008)}


def noise(seed, *shape):
    """Nested lists of multiples of 1/16 in [-2, 2], which every float dtype holds."""
    numbers = random.Random(seed)

    def nested(sizes):
        return [nested(sizes[1:]) for _ in range(sizes[0])] if sizes else numbers.randint(-32, 32) / 16

    return nested(shape)


def close(dtype):
    relative, absolute = TOLERANCES.get(dtype, (0, 0))
    return {"tolerance": relative, "absolute": absolute}


def operands(dtype="f32", heads=2, kv_heads=2, queries=3, keys=5, depth=4, value_depth=3):
    return [leaf(noise(1, 1, heads, queries, depth), dtype), leaf(noise(2, 1, kv_heads, keys, depth), dtype),
            leaf(noise(3, 1, kv_heads, keys, value_depth), dtype)]


def attend(label, inputs, mask=None, settings=None, **fields):
    """Without a gradient of their own, results are weighted by noise."""
    q, v = inputs[0], inputs[2]
    shape = q["shape"][:-1] + v["shape"][-1:]
    case(f"{NAME}/{label}", NAME, [*inputs, mask], attributes=settings or {},
         **{"upstream": [] if 0 in shape else noise(4, *shape), **close(q["dtype"]), **fields})


SHOWN = [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]
ADDED = [[0.0, -INF, 0.5, -2.0, 0.0], [1.0, 1.0, 1.0, 1.0, -3.0], [-INF, -INF, -INF, 0.25, -INF]]


def masks(dtype):
    attend(f"plain/{dtype}", operands(dtype))
    attend(f"causal/{dtype}", operands(dtype), settings={"causal": True})
    attend(f"bool mask/{dtype}", operands(dtype), tensor(SHOWN, "bool"))
    attend(f"float mask/{dtype}", operands(dtype), tensor(ADDED, dtype))
    attend(f"groups of heads/{dtype}", operands(dtype, heads=4), tensor(SHOWN, "bool"), {"enable_gqa": True})
    attend(f"scale/{dtype}", operands(dtype), settings={"scale": 0.125, "causal": True})


def forms():
    for dtype in ("f32", "bf16"):
        masks(dtype)
    for dtype in ("f64", "f16"):
        attend(f"plain/{dtype}", operands(dtype))
    attend("one mask for each head", operands(), tensor([[[1, 0, 1, 0, 1]], [[0, 1, 1, 1, 0]]], "bool"))
    attend("f32 mask of bf16", operands("bf16"), tensor(ADDED))
    attend("negative scale", operands(), settings={"scale": -1.5})
    attend("all heads share one", operands(heads=4, kv_heads=1), settings={"enable_gqa": True, "causal": True})
    attend("causal, more queries than keys", operands(queries=5, keys=3), settings={"causal": True})
    attend("causal with a cache", operands(), settings={"causal": True, "causal_offset": 2})
    attend("causal, the first query sees no key", operands(), settings={"causal": True, "causal_offset": -1})
    attend("a query that sees no key, bool mask", operands(), tensor([SHOWN[0], [0] * 5, SHOWN[2]], "bool"))
    attend("a query that sees no key, float mask", operands(), tensor([ADDED[0], [-INF] * 5, ADDED[2]]))
    attend("a mask that requires a gradient", operands(), leaf(ADDED))
    attend("a mask for each head that requires a gradient", operands("f64", heads=4),
           leaf(noise(8, 4, 1, 5), "f64"), {"enable_gqa": True})
    attend("several batches", [leaf(noise(5, 2, 1, 2, 2)), leaf(noise(6, 2, 1, 3, 2)), leaf(noise(7, 2, 1, 3, 2))])
    attend("without batches", [leaf(noise(5, 2, 2, 2)), leaf(noise(6, 2, 3, 2)), leaf(noise(7, 2, 3, 2))])
    attend("one key", operands(keys=1))
    attend("more keys than a block", operands(heads=1, kv_heads=1, keys=70, depth=2, value_depth=2),
           settings={"causal": True, "causal_offset": 66})
    attend("no keys", [leaf(noise(5, 1, 2, 2, 3)), empty(1, 2, 0, 3, grad=True), empty(1, 2, 0, 2, grad=True)])
    attend("no queries", [empty(1, 2, 0, 3, grad=True), leaf(noise(6, 1, 2, 3, 3)), leaf(noise(7, 1, 2, 3, 2))])
    attend("no batches", [empty(0, 2, 3, 2, grad=True), empty(0, 2, 4, 2, grad=True), empty(0, 2, 4, 2, grad=True)])
    attend("values without elements", [*operands()[:2], empty(1, 2, 5, 0, grad=True)])


def rows(first=1.0, second=0.5):
    """Two queries of one head and three keys."""
    return [leaf([[[[first, 0.0], [second, 1.0]]]]), leaf([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]]),
            leaf([[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]])]


def specials():
    attend("far scores", rows(1e4, -1e4))
    attend("NaN in a mask", rows(), tensor([[NAN, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    attend("infinity in a mask", rows(), tensor([[0.0, 0.0, 0.0], [INF, 0.0, 0.0]]))
    attend("infinite query", rows(INF))
    values = tensor([[[[1.0, 2.0], [NAN, 4.0], [5.0, INF]]]])
    attend("a hidden value that is not finite", [*rows()[:2], values], tensor([[1, 0, 1], [1, 0, 0]], "bool"))
    attend("NaN in a query", [tensor([[[[NAN, 0.0], [1.0, 1.0]]]]), *rows()[1:]],
           differs=f"{NAME} of scores that are NaN",
           ours=lambda theirs: {"outputs": [tensor([[[[NAN, NAN], theirs["outputs"][0]["values"][2:]]]])]})


def both(inputs, mask):
    """The result with one mask for both: row i sees keys up to i."""
    seen = [[int(shown and j <= i) for j, shown in enumerate(row)] for i, row in enumerate(mask)]
    return lambda theirs: run({"operation": NAME, "inputs": [*inputs, tensor(seen, "bool")],
                               "upstream": noise(4, 1, 2, 3, 3)})


def plain(inputs, mask=None, settings=None):
    """The result of another case that PyTorch accepts."""
    return lambda theirs: run({"operation": NAME, "inputs": [*inputs, mask], "attributes": settings or {},
                               "upstream": noise(4, *inputs[0]["shape"][:-1], inputs[2]["shape"][-1])})


def differences():
    attend("causal and a mask", operands(), tensor(SHOWN, "bool"), {"causal": True},
           differs=f"{NAME}, is_causal with a mask", ours=both(operands(), SHOWN))
    wrong_shape = error("SHAPE_MISMATCH")
    attend("one batch of keys for two of queries", [tensor(noise(5, 2, 1, 2, 2)), *operands(
        kv_heads=1, keys=3, depth=2, value_depth=2)[1:]])
    row = f"{NAME}, grouped heads"
    attend("groups of heads without enable_gqa", operands(heads=4), differs=row,
           ours=plain(operands(heads=4), settings={"enable_gqa": True}))
    attend("fewer heads of values than of keys", [*operands(heads=4)[:2], operands(kv_heads=1)[2]],
           settings={"enable_gqa": True})
    attend("heads that are not divided", operands(heads=4, kv_heads=3), settings={"enable_gqa": True})
    row = f"{NAME} without a dimension of heads, or of depth 0"
    attend("without heads", [leaf(noise(5, 2, 2)), leaf(noise(6, 3, 2)), leaf(noise(7, 3, 2))], differs=row,
           ours=wrong_shape)
    attend("depth 0", [empty(1, 1, 2, 0), empty(1, 1, 3, 0), tensor(noise(7, 1, 1, 3, 2))], differs=row,
           ours=wrong_shape)
    attend("fewer values than keys", [*operands()[:2], operands(keys=4, value_depth=4)[2]],
           differs=f"{NAME} of fewer values than keys", ours=wrong_shape)
    row = f"{NAME}, masks"
    attend("a mask of one number", operands(), tensor(0.5), differs=row,
           ours=plain(operands(), tensor([[0.5] * 5] * 3)))
    attend("u8 mask", operands(), tensor(SHOWN, "u8"), differs=row, ours=plain(operands(), tensor(SHOWN, "bool")))
    for dtype in ("f64", "f16"):
        attend(f"{dtype} mask of f32", operands(), tensor(ADDED, dtype), differs=row,
               ours=plain(operands(), tensor(ADDED)))
    row = f"{NAME}, scale of 0, infinity or NaN"
    attend("scale 0", operands(), settings={"scale": 0.0}, differs=row, ours=plain(operands()))
    for scale in ("inf", "nan"):
        attend(f"scale {scale}", operands(), settings={"scale": scale}, differs=row, ours=error("INVALID_ARGUMENT"))


def mistakes():
    attend("i32 mask", operands(), tensor(SHOWN, "i32"))
    attend("a mask of another shape", operands(), tensor(SHOWN[:2], "bool"))
    attend("a mask of more dimensions", operands(), tensor([[[SHOWN]]], "bool", (1, 1, 1, 3, 5)))
    attend("two depths", [operands()[0], *operands(depth=2)[1:]])
    attend("two dtypes", [operands()[0], *operands("f64")[1:]])
    ones = tensor([[[[1, 1]]]], "i32")
    attend("integers", [ones, ones, ones])


def turn(label, given, settings=None, positions=None, dtype="f32", **fields):
    relative, absolute = {"f64": (0, 1e-13), "f32": (0, 1e-6), "f16": (0.001, 1e-4), "bf16": (0.008, 1e-4)}[dtype]
    case(f"rotary_embedding/{label}", "rotary_embedding", [given, positions], attributes=settings or {},
         tolerance=relative, absolute=absolute, **fields)


def rotations():
    weights = noise(9, 1, 2, 3, 6)
    for dtype in ("f64", "f32", "f16", "bf16"):
        for label, settings in (("halves", {}), ("interleaved", {"interleaved": True})):
            turn(f"{label}/{dtype}", leaf(noise(8, 1, 2, 3, 6), dtype), settings, dtype=dtype, upstream=weights)
    turn("offset", leaf(noise(8, 3, 4)), {"offset": 5}, upstream=noise(9, 3, 4))
    turn("negative offset", leaf(noise(8, 3, 4)), {"offset": -5, "interleaved": True}, upstream=noise(9, 3, 4))
    turn("base", leaf(noise(8, 3, 4)), {"base": 500000.0}, upstream=noise(9, 3, 4))
    turn("base below 1", tensor(noise(8, 3, 4)), {"base": 0.5})
    turn("far positions", tensor(noise(8, 3, 4)), {"offset": 1000000})
    turn("positions", leaf(noise(8, 2, 3, 4)), positions=tensor([7, 0, 2], "i64"), upstream=noise(9, 2, 3, 4))
    turn("positions of each batch", tensor(noise(8, 2, 3, 4)), {"interleaved": True}, tensor([[7], [-3]], "i32"))
    turn("positions instead of an offset", tensor(noise(8, 3, 4)), {"offset": 9}, tensor([0, 1, 2], "i64"))
    turn("one pair", tensor([[1.0, 0.0], [1.0, 0.0]]))
    turn("first position", tensor([[1.5, NAN, INF, 2.0]]))
    turn("NaN and infinity", tensor([[0.0] * 4, [NAN, 1.0, 1.0, INF]]), {"interleaved": True})
    turn("no rows", empty(2, 0, 4, grad=True), upstream=[])
    turn("depth 0", empty(2, 0, grad=True), upstream=[])
    turn("odd depth", tensor([[1.0, 2.0, 3.0]]))
    turn("positions of another shape", tensor(noise(8, 3, 4)), positions=tensor([0, 1], "i64"))


for part in (forms, specials, differences, mistakes, rotations):
    part()
