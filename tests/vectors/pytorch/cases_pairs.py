"""Quotients, remainders, bits, angles, interpolation, closeness, and activations with a weight or a gate."""
from case import INF, NAN, OF_INTEGERS, case, empty, leaf, tensor

INTEGERS = ("i64", "i32", "i16", "i8")
WHOLE = ("fmod", "remainder", "floor_divide")
OF_TWO_DTYPES = "lerp, is_close, prelu, grid_sample of two dtypes"


def grid(values, others):
    """Each value with each other, as two flat lists."""
    pairs = [(a, b) for a in values for b in others]
    return [a for a, _ in pairs], [b for _, b in pairs]


def divisions():
    numbers = [NAN, -INF, -5.0, -1.0, -0.0, 0.0, 0.3, 1.0, 5.0, INF]
    a, b = grid(numbers, [NAN, -INF, -3.0, -0.3, -0.0, 0.0, 0.5, 3.0, INF])
    for name in WHOLE:
        case(f"{name}/special", name, [tensor(a), tensor(b)], tolerance=2e-7)
        case(f"{name}/special/f64", name, [tensor(a, "f64"), tensor(b, "f64")], tolerance=4e-16)
        for dtype in ("f16", "bf16"):
            case(f"{name}/special/{dtype}", name, [tensor(a, dtype), tensor(b, dtype)], tolerance=0.004)
        case(f"{name}/beside a multiple", name,
             [tensor([1.0, 6.0, 0.7, -0.7, 1e20]), tensor([0.1, 0.2, 0.1, 0.1, 3.0])], tolerance=2e-7)
        for dtype in INTEGERS:
            case(f"{name}/{dtype}", name, [tensor([7, -7, 7, -7, 6, -6, 0], dtype),
                                           tensor([3, 3, -3, -3, 3, -3, 5], dtype)])
        for dtype, least in (("i8", -128), ("i16", -32768), ("i32", -2**31)):
            case(f"{name}/{dtype}, the least by -1", name, [tensor([least, 5], dtype), tensor([-1, -1], dtype)])
        case(f"{name}/u8", name, [tensor([255, 200, 7], "u8"), tensor([2, 255, 7], "u8")])
        case(f"{name}/bools", name, [tensor([1, 0], "bool"), tensor([1, 1], "bool")])
        case(f"{name}/a bool and integers", name, [tensor([1, 0], "bool"), tensor([2, 3], "i32")])
        case(f"{name}/integers and floats", name, [tensor([7, -7], "i32"), tensor([2.0, 2.0])])
        case(f"{name}/u8 and a scalar of i64", name, [tensor([200, 7], "u8"), tensor(300, "i64")])
        case(f"{name}/by 0", name, [tensor([1, 2], "i32"), tensor([1, 0], "i32")])
        case(f"{name}/nothing by 0", name, [empty(0, dtype="i32"), tensor(0, "i32")])
        case(f"{name}/empty broadcasts", name, [empty(2, 0), tensor([[1.0]])])
    for name in ("fmod", "remainder"):
        case(f"{name}/bf16 and a scalar of f32", name, [tensor([100.0, 3.0], "bf16"), tensor(1.001)])
    case("floor_divide/bf16 and a scalar of f32", "floor_divide", [tensor([100.0, 3.0], "bf16"), tensor(1.001)],
         differs="floor_divide of a 16-bit float and a wider scalar tensor",
         ours={"outputs": [tensor([100.0, 3.0], "bf16")]})
    a, b = grid([-5.0, -1.0, 0.3, 5.0], [-INF, -3.0, -0.3, 0.7, 3.0, INF])
    for name in ("fmod", "remainder"):
        case(f"{name}/gradients", name, [leaf(a), leaf(b)], tolerance=2e-7)
        case(f"{name}/gradients of infinite dividends", name, [leaf([INF, -INF, 1.0, 0.0]), leaf([2.0, 2.0, 0.0, 0.0])])
        case(f"{name}/broadcast gradient", name, [leaf([[7.0], [-7.0]]), leaf([3.0, -2.0, 5.0])])
    case("floor_divide/gradients", "floor_divide", [leaf([7.0, -7.0]), leaf([2.0, 2.0])],
         differs="floor_divide, gradient", ours={"outputs": [tensor([3.0, -4.0])], "gradients": [[0.0, 0.0]] * 2})


def bits():
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for dtype in INTEGERS:
            case(f"{name}/{dtype}", name, [tensor([12, -12, 0, -1], dtype), tensor([10, 10, 5, -128], dtype)])
        case(f"{name}/u8", name, [tensor([12, 200, 255], "u8"), tensor([10, 100, 129], "u8")])
        case(f"{name}/bools", name, [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")])
        case(f"{name}/large", name, [tensor([2**62 + 1, -2**63], "i64"), tensor([2**62 + 3, -1], "i64")])
        case(f"{name}/u8 and i8", name, [tensor([200, 3], "u8"), tensor([-1, -2], "i8")])
        case(f"{name}/bools and integers", name, [tensor([0, 1], "bool"), tensor([3, 4], "i32")])
        case(f"{name}/u8 and a scalar of i64", name, [tensor([1, 200], "u8"), tensor(300, "i64")])
        case(f"{name}/floats", name, [tensor([1.0]), tensor([1], "i32")])
        case(f"{name}/empty broadcasts", name, [empty(2, 0, dtype="i32"), tensor([[1]], "i32")])
    for dtype in INTEGERS:
        case(f"bitwise_not/{dtype}", "bitwise_not", [tensor([0, -1, 12, -128], dtype)])
    case("bitwise_not/u8", "bitwise_not", [tensor([0, 12, 255], "u8")])
    case("bitwise_not/bools", "bitwise_not", [tensor([0, 1], "bool")])
    case("bitwise_not/floats", "bitwise_not", [tensor([1.0])])
    values, others = grid([NAN, -INF, -0.0, 0.0, 2.0], [NAN, 0.0, -3.0])
    case("logical_xor/special", "logical_xor", [tensor(values), tensor(others)])
    case("logical_xor/mixed dtypes", "logical_xor", [tensor([0, 1, 2], "i32"), tensor([0.0, -0.0, NAN])])
    case("logical_xor/u8 and a scalar of i64", "logical_xor", [tensor([48, 0], "u8"), tensor(256, "i64")])


def curves():
    numbers = [NAN, -INF, -2.0, -0.0, 0.0, 0.5, INF]
    a, b = grid(numbers, numbers)
    case("atan2/special", "atan2", [leaf(a), leaf(b)], tolerance=4e-7)
    case("atan2/special/f64", "atan2", [leaf(a, "f64"), leaf(b, "f64")], tolerance=1e-15)
    case("atan2/bf16", "atan2", [tensor([1.0, -2.0], "bf16"), tensor([3.0, 0.5], "bf16")], tolerance=0.004)
    case("atan2/integers", "atan2", [tensor([1, 0, -1], "i32"), tensor([1, -1, 0], "i32")], tolerance=2e-7)
    case("atan2/far and near", "atan2", [leaf([1e30, 1e-30]), leaf([1e30, 1e-30])],
         differs="atan2 beyond 1e19 and below 1e-19, gradient", tolerance=4e-7,
         ours={"gradients": [[5e-31, 5e29], [-5e-31, -5e29]]})
    case("atan2/broadcast gradient", "atan2", [leaf([[1.0], [-2.0]]), leaf([3.0, 4.0, -5.0])], tolerance=4e-7)
    case("atan2/empty broadcasts", "atan2", [empty(2, 0), tensor([[1.0]])])
    case("logaddexp/special", "logaddexp", [leaf(a), leaf(b)], tolerance=3e-7)
    case("logaddexp/special/f64", "logaddexp", [leaf(a, "f64"), leaf(b, "f64")], tolerance=1e-15)
    case("logaddexp/far apart", "logaddexp", [leaf([1e30, -100.0, 88.0, 3.0]), leaf([-1e30, -200.0, 89.0, 3.0])],
         tolerance=3e-7, absolute=1e-37)
    case("logaddexp/bf16", "logaddexp", [tensor([1.0, -2.0], "bf16"), tensor([3.0, 0.5], "bf16")], tolerance=0.004)
    case("logaddexp/integers", "logaddexp", [tensor([1, 2], "i32"), tensor([1, 0], "i32")], tolerance=2e-7,
         differs=OF_INTEGERS,
         ours={"outputs": [tensor([1.6931471805599454, 2.1269280110429727])]})
    case("logaddexp/empty broadcasts", "logaddexp", [empty(2, 0), tensor([[1.0]])])


def interpolation():
    ends = [leaf([1.0, -2.0, INF, 0.0, 3.0]), leaf([3.0, 5.0, INF, INF, NAN])]
    weights = [0.25, 0.75, 0.5, 1.0, 0.0]
    case("lerp/special", "lerp", [*ends, leaf(weights)], tolerance=2e-7)
    case("lerp/broadcast", "lerp", [leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0]), leaf(0.3)], tolerance=3e-7)
    case("lerp/empty", "lerp", [empty(0, grad=True), leaf([2.0]), leaf([0.5])], upstream=[])
    case("lerp/integers", "lerp", [tensor([1, 2], "i32")] * 3)
    case("lerp/two dtypes", "lerp", [tensor([1.0, 2.0]), tensor([3.0, 4.0], "f64"), tensor([0.5, 0.25])],
         differs=OF_TWO_DTYPES, ours={"outputs": [tensor([2.0, 2.5], "f64")]})
    for weight in (0.3, 0.5, 1.0, -1.0, 2.0):
        case(f"lerp_scalar/{weight}", "lerp_scalar", [leaf([1.0, -2.0, 0.1]), leaf([3.0, 5.0, 0.7])],
             attributes={"weight": weight}, tolerance=3e-7, absolute=5e-7)
    for dtype in ("f64", "f16", "bf16"):
        given = [leaf([1.0, -2.0, 0.5], dtype), leaf([3.0, 5.0, 0.75], dtype)]
        case(f"lerp_scalar/{dtype}", "lerp_scalar", given, attributes={"weight": 0.3},
             tolerance=1e-15 if dtype == "f64" else 0.004,
             absolute=1e-15 if dtype == "f64" else 0.002)
    case("lerp_scalar/integers", "lerp_scalar", [tensor([1, 2], "i32")] * 2, attributes={"weight": 0.5})
    numbers = [NAN, -INF, -2.0, 0.0, 0.5, INF]
    a, b = grid(numbers, numbers)
    for value in (1, 0.5, -2):
        case(f"addcdiv/special, {value}", "addcdiv", [leaf([1.0] * len(a)), leaf(a), leaf(b)],
             attributes={"value": value}, tolerance=2e-7)
    for dtype in ("f64", "f16", "bf16"):
        case(f"addcdiv/{dtype}", "addcdiv",
             [leaf([0.1, -1.0], dtype), leaf([0.3, 3.0], dtype), leaf([0.7, 1.5], dtype)], attributes={"value": 0.1},
             tolerance=1e-15 if dtype == "f64" else 0.01)
    case("addcdiv/integers", "addcdiv", [tensor([1, 2], "i32")] * 3, attributes={"value": 1})
    case("addcdiv/a and b of integers", "addcdiv", [tensor([1.0, 2.0]), tensor([3, 4], "i32"), tensor([2, 8], "i32")],
         attributes={"value": 1}, differs="addcdiv of integers a and b", ours={"outputs": [tensor([2.5, 2.5])]})
    case("addcdiv/empty", "addcdiv", [empty(0, grad=True), leaf(1.0), leaf([2.0])], attributes={"value": 1},
         upstream=[])


def closeness():
    numbers = [NAN, -INF, -1.0, 0.0, 1.0, 1.25, 1.5, INF]
    a, b = grid(numbers, numbers)
    for equal_nan in (False, True):
        for rtol, atol in ((0, 0), (0.25, 0), (0, 0.25), (1e-5, 1e-8), (0, "inf")):
            case(f"is_close/{rtol}, {atol}, {equal_nan}", "is_close", [tensor(a), tensor(b)],
                 attributes={"rtol": rtol, "atol": atol, "equal_nan": equal_nan})
    for dtype in ("f64", "f16", "bf16"):
        case(f"is_close/{dtype}", "is_close", [tensor([1.0, 1.0, -4.0], dtype), tensor([1.0, 1.5, -4.5], dtype)],
             attributes={"rtol": 0.125, "atol": 0})
    for dtype in (*INTEGERS, "u8"):
        case(f"is_close/{dtype}", "is_close", [tensor([10, 10, 100], dtype), tensor([10, 12, 101], dtype)],
             attributes={"rtol": 0, "atol": 1})
    case("is_close/bools", "is_close", [tensor([0, 1], "bool"), tensor([1, 1], "bool")],
         attributes={"rtol": 0, "atol": 0})
    case("is_close/two dtypes", "is_close", [tensor([1.0, 2.0]), tensor([1.0, 3.0], "f64")],
         attributes={"rtol": 0, "atol": 0}, differs=OF_TWO_DTYPES, ours={"outputs": [tensor([1, 0], "bool")]})
    case("is_close/below 0", "is_close", [tensor([1.0]), tensor([1.0])], attributes={"rtol": -1, "atol": 0})
    case("is_close/empty broadcasts", "is_close", [empty(2, 0), tensor([[1.0]])], attributes={"rtol": 0, "atol": 0})


def gates():
    rows = [[1.0, -2.0, 0.0, NAN], [-INF, INF, -1.0, 2.0]]
    case("prelu/of each channel", "prelu", [leaf(rows), leaf([0.5, 0.1, 0.2, 0.3])], tolerance=2e-7)
    case("prelu/of all", "prelu", [leaf([1.0, -2.0, -0.0, 3.0]), leaf([0.25])])
    case("prelu/of all, a scalar", "prelu", [leaf([1.0, -2.0]), leaf(0.25)])
    case("prelu/of a scalar", "prelu", [leaf(-2.0), leaf([0.25])])
    case("prelu/images", "prelu", [leaf([[[[1.0, -1.0]], [[-2.0, 2.0]]]]), leaf([0.5, -0.5])])
    case("prelu/bf16", "prelu", [tensor([[1.0, -2.0]], "bf16"), tensor([0.1, 0.3], "bf16")], tolerance=0.004)
    case("prelu/weights of another size", "prelu", [tensor([[1.0, -2.0]]), tensor([0.1, 0.3, 0.5])])
    case("prelu/weights of two dimensions", "prelu", [tensor([[1.0, -2.0]]), tensor([[0.1, 0.3]])])
    case("prelu/two weights of one dimension", "prelu", [tensor([1.0, -2.0]), tensor([0.1, 0.3])])
    case("prelu/two dtypes", "prelu", [tensor([[1.0, -2.0]], "f64"), tensor([0.25, 0.5])], differs=OF_TWO_DTYPES,
         ours={"outputs": [tensor([[1.0, -1.0]], "f64")]})
    case("prelu/empty", "prelu", [empty(0, 2, grad=True), leaf([0.5, 0.5])], upstream=[])
    case("glu/special", "glu", [leaf([1.0, -2.0, NAN, INF, 3.0, -INF, 0.0, 1.0, -3.0, INF])], attributes={"dim": 0},
         tolerance=5e-7)
    case("glu/rows", "glu", [leaf([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, -30.0, 30.0]])], attributes={"dim": -1},
         tolerance=3e-6, absolute=1e-12)
    case("glu/columns", "glu", [leaf([[1.0, 2.0, 3.0], [-1.0, 0.5, -30.0]])], attributes={"dim": 0}, tolerance=5e-7)
    for dtype in ("f64", "f16", "bf16"):
        case(f"glu/{dtype}", "glu", [tensor([1.0, -2.0, 3.0, -3.0], dtype)], attributes={"dim": 0},
             tolerance=1e-15 if dtype == "f64" else 0.004)
    case("glu/odd", "glu", [tensor([1.0, 2.0, 3.0])], attributes={"dim": 0})
    case("glu/a scalar", "glu", [tensor(1.0)], attributes={"dim": 0})
    case("glu/no such dimension", "glu", [tensor([1.0, 2.0])], attributes={"dim": 1})
    case("glu/empty", "glu", [empty(0, 4, grad=True)], attributes={"dim": 1}, upstream=[])


for part in (divisions, bits, curves, interpolation, closeness, gates):
    part()
