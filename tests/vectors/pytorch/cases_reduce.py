"""Reductions of empty tensors, of one element, of NaN and infinities, with ties; softmax and log-softmax."""
from case import INF, NAN, case, empty, error, leaf, tensor

PLAIN = ("sum", "mean", "amax", "amin", "log_sum_exp", "any", "all")
ALONG = ("max_dim", "min_dim", "argmax", "argmin")


def over(name, **settings):
    """Settings of an operation that reduces, with the settings that it always needs."""
    return {**settings, **({"correction": 1} if name in ("var", "std") else {})}


def nothing():
    for name in PLAIN + ("var", "std"):
        case(f"{name}/empty", name, [empty(0)], attributes=over(name))
        case(f"{name}/empty dimension", name, [empty(2, 0)], attributes=over(name, dims=[1]))
        if name in ("sum", "amax", "var"):
            case(f"{name}/empty dimension kept", name, [empty(2, 0)], attributes=over(name, dims=[-1], keepdim=True))
        case(f"{name}/dimension beside an empty one", name, [empty(0, 3)], attributes=over(name, dims=[1]))
        case(f"{name}/scalar", name, [tensor(2.0)], attributes=over(name, dims=[0]))
        case(f"{name}/dimension out of range", name, [tensor([1.0])], attributes=over(name, dims=[1]))
        case(f"{name}/dimension twice", name, [tensor([[1.0]])], attributes=over(name, dims=[0, -2]))
    for name in ALONG:
        case(f"{name}/empty dimension", name, [empty(2, 0)], attributes={"dim": 1})
        case(f"{name}/dimension beside an empty one", name, [empty(0, 3)], attributes={"dim": 1})
        case(f"{name}/scalar", name, [tensor(2.0)], attributes={"dim": 0})
        case(f"{name}/scalar kept", name, [tensor(2.0)], attributes={"dim": -1, "keepdim": True})
        case(f"{name}/dimension out of range", name, [tensor([1.0])], attributes={"dim": -2})
    for name in ("cumsum", "softmax", "log_softmax"):
        case(f"{name}/empty", name, [empty(0, grad=True)], attributes={"dim": 0}, upstream=[])
        case(f"{name}/empty dimension", name, [empty(2, 0, grad=True)], attributes={"dim": 1}, upstream=[])
        case(f"{name}/scalar", name, [leaf(2.0)], attributes={"dim": 0})
        case(f"{name}/dimension out of range", name, [tensor([1.0])], attributes={"dim": 1})
    for name in ("sum", "mean", "log_sum_exp"):
        case(f"{name}/gradient of nothing", name, [empty(2, 0, grad=True)],
             attributes={"dims": [1]}, upstream=[1.0, 2.0])


def special():
    rows = [[NAN, 1.0, INF], [-INF, INF, 1.0], [-INF, -INF, -INF], [INF, INF, 1.0], [1.0, NAN, NAN], [-0.0, -0.0, -0.0]]
    for name in PLAIN + ("cumsum",):
        settings = {"dim": 1} if name == "cumsum" else {"dims": [1]}
        case(f"{name}/special", name, [tensor(rows)], attributes=settings, tolerance=1e-6)
        if name in ("sum", "amax", "log_sum_exp"):
            case(f"{name}/special/f64", name, [tensor(rows, "f64")], attributes=settings, tolerance=1e-6)
    for name in ALONG:
        case(f"{name}/special", name, [tensor(rows)], attributes={"dim": 1})
        case(f"{name}/special along columns", name, [tensor(rows)], attributes={"dim": 0})
        case(f"{name}/ties", name, [tensor([[1.0, 3.0, 3.0, 1.0, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0]])],
             attributes={"dim": 1})
        case(f"{name}/zeros of both signs", name, [tensor([[-0.0, 0.0], [0.0, -0.0]])], attributes={"dim": 1},
             absolute=1e-45)
        case(f"{name}/integers", name, [tensor([[-128, 127, 127], [5, 5, -5]], "i8")], attributes={"dim": 1})
        case(f"{name}/large integers", name, [tensor([2**53 + 1, 2**53, 2**53 + 2], "i64")], attributes={"dim": 0})
        bools = [tensor([[0, 1, 1], [1, 0, 0]], "bool")]
        if name.startswith("arg"):
            case(f"{name}/bools", name, bools, attributes={"dim": 1},
                 differs="abs, argmax, argmin of bool, sub of a bool and a number",
                 ours={"outputs": [tensor([1, 0] if name == "argmax" else [0, 1], "i64")]})
        else:
            case(f"{name}/bools", name, bools, attributes={"dim": 1})
    for name in ("amax", "amin"):
        case(f"{name}/zeros of both signs", name, [tensor([0.0, -0.0])], absolute=1e-45)
        case(f"{name}/bools", name, [tensor([0, 1], "bool")])


def gradients():
    ties = leaf([[1.0, 3.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    for name in ("amax", "amin"):
        case(f"{name}/ties", name, [ties], attributes={"dims": [1]}, upstream=[1.0, 2.0])
        case(f"{name}/ties over all", name, [ties])
        case(f"{name}/nan, gradient", name, [leaf([[NAN, 1.0, 2.0], [NAN, NAN, 1.0]])], attributes={"dims": [1]},
             upstream=[1.0, 2.0], differs="amax, amin with a NaN, gradient",
             ours={"gradients": [[1.0, 0.0, 0.0, 1.0, 1.0, 0.0]]})
        case(f"{name}/infinite ties", name, [leaf([[INF, INF, 1.0], [-INF, -INF, 1.0]])], attributes={"dims": [1]})
    for name in ("max_dim", "min_dim"):
        case(f"{name}/ties, gradient", name, [ties], attributes={"dim": 1}, upstream=[1.0, 2.0])
        case(f"{name}/nan, gradient", name, [leaf([[NAN, 1.0, 2.0], [1.0, NAN, NAN]])], attributes={"dim": 1})
    for name in ("sum", "mean"):
        case(f"{name}/gradient of infinities", name, [leaf([INF, NAN, -INF])], upstream=[2.0], tolerance=1e-7)
    case("cumsum/gradient", "cumsum", [leaf([[1.0, NAN, 2.0]])], attributes={"dim": 1}, upstream=[1.0, INF, 2.0])


def wide():
    case("sum/f16 beyond it", "sum", [tensor([65504.0, 65504.0, -65504.0], "f16")])
    case("sum/f16 overflow", "sum", [tensor([65504.0, 65504.0], "f16")])
    case("mean/f16 beyond it", "mean", [tensor([65504.0, 65504.0, 65504.0, 65504.0], "f16")])
    case("sum/bf16 of many", "sum", [tensor([256.0] + [1.0] * 64, "bf16")])
    case("cumsum/bf16 of many", "cumsum", [tensor([256.0] + [1.0] * 8, "bf16")], attributes={"dim": 0})
    case("cumsum/f16 overflow", "cumsum", [tensor([65504.0, 65504.0, -65504.0], "f16")], attributes={"dim": 0})
    case("sum/i8", "sum", [tensor([127, 127, -1], "i8")])
    case("sum/i64 wraps", "sum", [tensor([2**63 - 1, 1], "i64")])
    case("sum/bool", "sum", [tensor([1, 0, 1], "bool")])
    case("sum/no bools", "sum", [empty(0, dtype="bool")])
    case("cumsum/bool", "cumsum", [tensor([1, 1, 0, 1], "bool")], attributes={"dim": 0})
    case("cumsum/u8", "cumsum", [tensor([255, 255], "u8")], attributes={"dim": 0})
    case("cumsum/i64 wraps", "cumsum", [tensor([2**63 - 1, 1], "i64")], attributes={"dim": 0})
    for dtype in ("i32", "bool"):
        case(f"mean/{dtype}", "mean", [tensor([1, 0], dtype)])
        case(f"var/{dtype}", "var", [tensor([1, 0], dtype)], attributes={"correction": 1})
        case(f"softmax/{dtype}", "softmax", [tensor([1, 0], dtype)], attributes={"dim": 0})
        case(f"log_sum_exp/{dtype}", "log_sum_exp", [tensor([1, 0], dtype)], tolerance=1e-6,
             differs="relu, log_sum_exp of integers", ours=error("DTYPE_MISMATCH"))
        for name in ("any", "all"):
            case(f"{name}/{dtype}", name, [tensor([1, 0], dtype)])
    for name, answer in (("any", 1), ("all", 0)):
        case(f"{name}/u8", name, [tensor([2, 0], "u8")], differs="any, all of u8",
             ours={"outputs": [tensor(answer, "bool")]})


def spread():
    for name in ("var", "std"):
        for correction in (0, 1, 2, 0.5, 3) if name == "var" else (1, 2):
            case(f"{name}/two elements, correction {correction}", name, [tensor([1.0, 3.0])],
                 attributes={"correction": correction}, tolerance=1e-6)
        for correction in (0, 1, 2) if name == "var" else (1,):
            case(f"{name}/one element, correction {correction}", name, [tensor([3.0])],
                 attributes={"correction": correction})
            case(f"{name}/equal elements, correction {correction}", name, [tensor([0.1, 0.1, 0.1])],
                 attributes={"correction": correction})
        case(f"{name}/special", name, [tensor([[INF, 1.0], [NAN, 1.0], [INF, INF], [-INF, INF]])],
             attributes={"correction": 1, "dims": [1]})
        case(f"{name}/gradient", name, [leaf([[1.0, 3.0, 5.0], [2.0, 2.0, 2.0]])],
             attributes={"correction": 1, "dims": [1]}, tolerance=1e-6)
        case(f"{name}/gradient of one element, correction 0", name, [leaf([3.0])], attributes={"correction": 0})
    case("var/gradient beside an infinite element", "var", [leaf([INF, 1.0])], attributes={"correction": 1},
         differs="var with an infinite element, gradient of the others", ours={"gradients": [[NAN, NAN]]})
    case("std/gradient beside an infinite element", "std", [leaf([INF, 1.0])], attributes={"correction": 1})
    row = "var, std of too few elements, gradient"
    for name in ("var", "std"):
        case(f"{name}/gradient of one element", name, [leaf([3.0])], attributes={"correction": 1})
        case(f"{name}/gradient of a dimension of three, correction 3", name, [leaf([1.0, 2.0, 3.0])],
             attributes={"correction": 3, "dims": [0]})
    case("std/gradient of two elements, correction 2", "std", [leaf([1.0, 3.0])], attributes={"correction": 2})
    case("var/gradient of three elements, correction 3", "var", [leaf([1.0, 2.0, 3.0])], attributes={"correction": 3},
         differs=row, ours={"gradients": [[-INF, NAN, INF]]})
    case("var/gradient of a dimension of three, correction 5", "var", [leaf([1.0, 2.0, 3.0])],
         attributes={"correction": 5, "dims": [0]}, differs=row, ours={"gradients": [[-INF, NAN, INF]]})
    case("std/gradient of a dimension of three, correction 5", "std", [leaf([1.0, 2.0, 3.0])],
         attributes={"correction": 5, "dims": [0]}, differs=row, ours={"gradients": [[NAN, NAN, NAN]]})


def exponentials():
    rows = [[-INF, -INF, -INF], [-INF, 0.0, -INF], [INF, 0.0, -INF], [INF, INF, 0.0], [NAN, 0.0, 1.0],
            [1000.0, 0.0, -1000.0], [NAN, INF, 0.0], [88.0, 88.0, 88.0], [-1e38, 1e38, 0.0]]
    upstream = [[1.0, 2.0, 3.0]] * len(rows)
    case("softmax/special/bf16", "softmax", [tensor(rows, "bf16")], attributes={"dim": 1}, tolerance=0.01)
    for name in ("softmax", "log_softmax"):
        case(f"{name}/special", name, [leaf(rows)], attributes={"dim": 1}, upstream=upstream, tolerance=1e-6,
             absolute=1e-6)
        case(f"{name}/special along columns", name, [tensor([[row[i] for row in rows] for i in range(3)])],
             attributes={"dim": 0}, tolerance=1e-6)
        case(f"{name}/one element", name, [leaf([[5.0], [-INF], [INF]])], attributes={"dim": 1})
    for i, row in enumerate(rows):
        case(f"log_sum_exp/{row}", "log_sum_exp", [leaf(row)], tolerance=1e-6, absolute=1e-6)
    case("log_sum_exp/negative infinity, one", "log_sum_exp", [leaf([-INF])])
    case("log_sum_exp/two dimensions", "log_sum_exp", [leaf([[1.0, -INF], [-INF, -INF]])], attributes={"dims": [0, 1]})


for part in (nothing, special, gradients, wide, spread, exponentials):
    part()
