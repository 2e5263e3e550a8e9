"""Ranks with NaN and infinities; medians of even numbers; quantiles at and between elements; running extremes."""
from case import INF, NAN, case, empty, leaf, tensor

SPECIAL = [3.0, NAN, -INF, 1.0, INF]
ROWS = [[3.0, 1.0, 2.0, 7.0], [0.0, 5.0, 4.0, -1.0]]


def ranks():
    for k in (0, 1, 2, 4, 5):
        case(f"kthvalue/{k}", "kthvalue", [leaf(ROWS)], attributes={"k": k, "dim": 1}, upstream=[1.0, 2.0])
        case(f"kthvalue/special, {k}", "kthvalue", [tensor(SPECIAL)], attributes={"k": k, "dim": 0})
    case("kthvalue/keepdim", "kthvalue", [leaf(ROWS)], attributes={"k": 2, "dim": 0, "keepdim": True},
         upstream=[[1.0, 2.0, 3.0, 4.0]])
    case("kthvalue/scalar", "kthvalue", [tensor(5.0)], attributes={"k": 1, "dim": 0})
    case("kthvalue/empty", "kthvalue", [empty(0, 3)], attributes={"k": 2, "dim": 1})
    for dtype, values in (("i64", [3, -2**40, 7, 2**40]), ("i8", [127, -128, 0, -1]), ("u8", [4, 255, 1, 0])):
        case(f"kthvalue/{dtype}", "kthvalue", [tensor(values, dtype)], attributes={"k": 3, "dim": 0})


def medians():
    for dim in (0, 1, -1):
        case(f"median_dim/{dim}", "median_dim", [leaf(ROWS)], attributes={"dim": dim},
             upstream=[1.0, 2.0] if dim else [1.0, 2.0, 3.0, 4.0])
    case("median_dim/special", "median_dim", [tensor(SPECIAL)], attributes={"dim": 0})
    case("median_dim/infinities", "median_dim", [leaf([INF, -INF, 2.0])], attributes={"dim": 0}, upstream=3.0)
    case("median_dim/two NaN", "median_dim", [leaf([[1.0, NAN, NAN], [3.0, 1.0, 2.0]])],
         attributes={"dim": 1, "keepdim": True}, upstream=[[3.0], [4.0]])
    case("median_dim/scalar", "median_dim", [leaf(5.0)], attributes={"dim": 0})
    case("median_dim/empty", "median_dim", [empty(0, 3)], attributes={"dim": 1})
    case("median_dim/of nothing", "median_dim", [empty(0, 3)], attributes={"dim": 0})
    case("median_dim/i32", "median_dim", [tensor([4, 1, 3, 2], "i32")], attributes={"dim": 0})
    case("median/even", "median", [leaf(ROWS)], upstream=3.0)
    case("median/ties share", "median", [leaf([1.0, 2.0, 2.0, 2.0, 9.0])], upstream=3.0)
    case("median/special", "median", [tensor(SPECIAL)])
    case("median/of nothing", "median", [empty(0, 3)])
    case("median/scalar", "median", [leaf(5.0)])
    case("median/f16", "median", [tensor([1.0, -2.0, 65504.0], "f16")])
    case("median/i64", "median", [tensor([4, 1, 3, 2], "i64")])


def quantiles():
    for interpolation in ("linear", "lower", "higher", "nearest", "midpoint"):
        for q in (0.0, 0.25, 0.5, 1.0):
            case(f"quantile/{interpolation} {q}", "quantile", [leaf(ROWS)],
                 attributes={"q": q, "dim": 1, "interpolation": interpolation}, upstream=[1.0, 2.0], tolerance=1e-6)
        case(f"quantile/{interpolation}, in the middle", "quantile", [leaf([1.0, 2.0, 4.0, 8.0, 9.0, 7.0])],
             attributes={"q": 0.5, "dim": 0, "interpolation": interpolation}, upstream=3.0)
        case(f"quantile/{interpolation} of NaN", "quantile", [tensor(SPECIAL)],
             attributes={"q": 0.25, "dim": 0, "interpolation": interpolation})
    case("quantile/keepdim", "quantile", [leaf(ROWS)], attributes={"q": 0.75, "dim": 0, "keepdim": True},
         upstream=[[1.0, 2.0, 3.0, 4.0]], tolerance=1e-6)
    case("quantile/f64", "quantile", [tensor([1.0, 2.0, 5.0], "f64")], attributes={"q": 0.75, "dim": 0})
    case("quantile/scalar", "quantile", [leaf(5.0)], attributes={"q": 0.3, "dim": 0})
    case("quantile/beyond 1", "quantile", [tensor(ROWS)], attributes={"q": 1.5, "dim": 0})
    case("quantile/of nothing", "quantile", [empty(0, 3)], attributes={"q": 0.5, "dim": 0})
    case("quantile/integers", "quantile", [tensor([1, 2], "i64")], attributes={"q": 0.5, "dim": 0})
    case("quantile/between infinities", "quantile", [tensor([-INF, INF])], attributes={"q": 0.25, "dim": 0})
    case("quantile/of infinities", "quantile", [tensor([INF, INF, INF])], attributes={"q": 0.25, "dim": 0})
    case("quantile/at an infinity", "quantile", [tensor([1.0, INF, 2.0])], attributes={"q": 1.0, "dim": 0},
         differs="quantile at an infinite element", ours={"outputs": [tensor(INF)]})
    case("quantile/f16", "quantile", [tensor([1.0, 2.0], "f16")], attributes={"q": 0.5, "dim": 0},
         differs="quantile of 16-bit floats", ours={"outputs": [tensor(1.5, "f16")]})


def running():
    for name in ("cummax", "cummin"):
        case(f"{name}/ties", name, [leaf([2.0, 1.0, 2.0, 1.0, 3.0, 3.0])], attributes={"dim": 0},
             upstream=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        case(f"{name}/special", name, [leaf([1.0, INF, NAN, 2.0, -INF, NAN, 0.0])], attributes={"dim": 0},
             upstream=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
        case(f"{name}/zeros", name, [tensor([0.0, -0.0, 0.0])], attributes={"dim": 0})
        for dim in (0, -1):
            case(f"{name}/dim {dim}", name, [leaf(ROWS)], attributes={"dim": dim},
                 upstream=[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
        case(f"{name}/scalar", name, [tensor(5.0)], attributes={"dim": 0})
        case(f"{name}/empty", name, [empty(0, 3)], attributes={"dim": 0})
        case(f"{name}/i8", name, [tensor([1, -5, 7, 7, -5], "i8")], attributes={"dim": 0})
        case(f"{name}/bool", name, [tensor([0, 1, 0], "bool")], attributes={"dim": 0})
        case(f"{name}/no such dimension", name, [tensor(ROWS)], attributes={"dim": 2})


for part in (ranks, medians, quantiles, running):
    part()
