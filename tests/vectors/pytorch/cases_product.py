"""Products, running products, norms, and variance and mean together: zeros, nothing, NaN and infinities."""
from case import INF, NAN, case, empty, error, leaf, tensor

ZEROS = [[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 3.0, 0.0], [-0.0, 1.0, -1.0]]
POWERS = (0, 0.5, 1, 1.5, 2, 3, "inf", "-inf")


def products():
    for name, attributes in (("prod", {"dims": [1]}), ("cumprod", {"dim": 1})):
        case(f"{name}/zeros", name, [leaf(ZEROS)], attributes=attributes, absolute=1e-45)
        case(f"{name}/zeros/f64", name, [leaf(ZEROS, "f64")], attributes=attributes, absolute=1e-300)
        case(f"{name}/zeros/bf16", name, [leaf(ZEROS, "bf16")], attributes=attributes, tolerance=0.004, absolute=1e-45)
        case(f"{name}/special", name, [tensor([[NAN, 0.0, 1.0], [INF, 2.0, -1.0], [INF, 0.0, 2.0], [-INF, INF, 1.0]])],
             attributes=attributes)
        for dtype in ("i64", "i32", "i16", "i8", "u8", "bool"):
            case(f"{name}/{dtype}", name, [tensor([[1, 0, 1], [1, 1, 1]], dtype)], attributes=attributes)
        case(f"{name}/u8 beyond it", name, [tensor([[200, 200, 2]], "u8")], attributes=attributes)
        case(f"{name}/i64 wraps", name, [tensor([[2**62, 3, 5]], "i64")], attributes=attributes)
    case("prod/all", "prod", [leaf([[1.0, 0.0], [3.0, 4.0]])])
    case("prod/all of nothing", "prod", [empty(0, 3, grad=True)])
    case("prod/empty dimension", "prod", [empty(2, 0, grad=True)], attributes={"dims": [1]}, upstream=[1.0, 2.0])
    case("prod/kept", "prod", [leaf([[1.0, 2.0], [3.0, 4.0]])], attributes={"dims": [0], "keepdim": True})
    case("prod/scalar", "prod", [leaf(3.0)])
    case("prod/dimension out of range", "prod", [tensor([1.0])], attributes={"dims": [1]})
    case("cumprod/first dimension", "cumprod", [leaf(ZEROS)], attributes={"dim": 0}, absolute=1e-45,
         upstream=[[1.0, 2.0, 3.0]] * 4)
    case("cumprod/scalar", "cumprod", [leaf(2.0)], attributes={"dim": 0})
    case("cumprod/empty", "cumprod", [empty(2, 0, grad=True)], attributes={"dim": 1}, upstream=[])
    case("cumprod/dimension out of range", "cumprod", [tensor([1.0])], attributes={"dim": 1})


def norms():
    for p in POWERS:
        made = tensor if p == 0 else leaf  # PyTorch has no gradient there, which counts as 0
        case(f"vector_norm/p {p}", "vector_norm", [made([3.0, 0.0, -4.0])], attributes={"p": p}, tolerance=3e-7)
        case(f"vector_norm/p {p}, f64", "vector_norm", [made([3.0, 0.0, -4.0], "f64")], attributes={"p": p},
             tolerance=1e-14)
        case(f"vector_norm/p {p}, zeros", "vector_norm", [made([0.0, 0.0])], attributes={"p": p})
        case(f"vector_norm/p {p}, dimension", "vector_norm", [made([[1.0, -2.0], [0.5, 4.0]])],
             attributes={"p": p, "dims": [1], "keepdim": True}, tolerance=3e-7)
        case(f"vector_norm/p {p}, infinity", "vector_norm", [tensor([INF, 1.0])], attributes={"p": p})
        case(f"vector_norm/p {p}, nan", "vector_norm", [tensor([NAN, 1.0])], attributes={"p": p})
        case(f"vector_norm/p {p}, nothing", "vector_norm", [empty(2, 0)], attributes={"p": p, "dims": [1]})
        case(f"vector_norm/p {p}, bf16", "vector_norm", [tensor([3.0, 0.0, -4.0], "bf16")], attributes={"p": p},
             tolerance=0.004)
    case("vector_norm/ties", "vector_norm", [leaf([2.0, -2.0, 1.0])], attributes={"p": "inf"})
    case("vector_norm/p -1", "vector_norm", [leaf([2.0, -4.0])], attributes={"p": -1}, tolerance=3e-7)
    case("vector_norm/p -1, nothing", "vector_norm", [empty(2, 0)], attributes={"p": -1, "dims": [1]})
    case("vector_norm/integers", "vector_norm", [tensor([1, 2], "i32")], attributes={"p": 2})


def moments():
    rows = [[1.0, 3.0, 5.0], [2.0, 2.0, 2.0]]
    for correction in (0, 1):
        case(f"var_mean/correction {correction}", "var_mean", [leaf(rows)],
             attributes={"dims": [1], "correction": correction}, tolerance=1e-6)
    case("var_mean/all, kept", "var_mean", [tensor(rows, "f64")], attributes={"correction": 1, "keepdim": True},
         tolerance=1e-14)
    case("var_mean/bf16", "var_mean", [tensor(rows, "bf16")], attributes={"dims": [0], "correction": 0}, tolerance=0.004)
    case("var_mean/nothing", "var_mean", [empty(2, 0)], attributes={"dims": [1], "correction": 0})
    case("var_mean/special", "var_mean", [tensor([[INF, 1.0], [NAN, 1.0]])], attributes={"dims": [1], "correction": 1})
    case("var_mean/integers", "var_mean", [tensor([1, 2], "i32")], attributes={"correction": 0})


for part in (products, norms, moments):
    part()
