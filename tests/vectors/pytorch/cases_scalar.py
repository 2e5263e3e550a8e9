"""Operations of a tensor and a number, and writes in place."""
from case import INF, NAN, case, empty, error, leaf, tensor

SPECIAL = [NAN, -INF, -1.0, -0.0, 0.0, 0.1, 1.0, INF]
ARITHMETIC = ("add", "sub", "mul", "div")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
FRACTION = "add_scalar, sub_scalar, mul_scalar of integers and a fraction"
RECORDED = "writes in place that autograd has to record"


def numbers():
    for name in ARITHMETIC:
        for number in (0.1, -2.0, 0.0, "inf", "nan"):
            case(f"{name}_scalar/{number}", name + "_scalar", [leaf(SPECIAL)], attributes={"number": number},
                 tolerance=2e-7)
        for dtype in ("f64", "f16", "bf16"):
            case(f"{name}_scalar/{dtype}", name + "_scalar", [leaf([-1.5, 0.0, 3.0], dtype)],
                 attributes={"number": 0.1}, tolerance=2e-15 if dtype == "f64" else 0.004)
        case(f"{name}_scalar/scalar", name + "_scalar", [leaf(3.0, "bf16")], attributes={"number": 0.1}, tolerance=0.004)
        for dtype in ("i64", "i32", "i16", "i8", "u8", "bool"):
            case(f"{name}_scalar/{dtype}", name + "_scalar", [tensor([0, 1, 1], dtype)], attributes={"number": 3},
                 tolerance=2e-7)
        case(f"{name}_scalar/empty", name + "_scalar", [empty(0, grad=True)], attributes={"number": 3}, upstream=[])
        if name != "div":
            case(f"{name}_scalar/a fraction and integers", name + "_scalar", [tensor([1, 2], "i32")],
                 attributes={"number": 0.5}, differs=FRACTION, ours=error("INVALID_ARGUMENT"))


def comparisons():
    for name in COMPARE:
        for number in (0.1, 0.0, "inf", "nan"):
            case(f"{name}_scalar/{number}", name + "_scalar", [tensor(SPECIAL)], attributes={"number": number})
        for dtype in ("f64", "f16", "bf16"):
            case(f"{name}_scalar/{dtype}", name + "_scalar", [tensor([0.1, -0.1, 0.2], dtype)],
                 attributes={"number": 0.1})
        for dtype in ("i64", "i8", "u8", "bool"):
            case(f"{name}_scalar/{dtype}", name + "_scalar", [tensor([0, 1], dtype)], attributes={"number": 1})
            case(f"{name}_scalar/{dtype} and a fraction", name + "_scalar", [tensor([0, 1], dtype)],
                 attributes={"number": 0.5})


def in_place():
    for name in ARITHMETIC:
        name += "_in_place"
        case(f"{name}/broadcast", name, [tensor([[1.0, 2.0], [3.0, -4.0]]), tensor([2.0, 0.5])])
        case(f"{name}/a wider operand", name, [tensor([1.0, 3.0], "bf16"), tensor([0.1, 0.7], "f64")], tolerance=0.004)
        case(f"{name}/integers", name, [tensor([100, 3], "i8"), tensor([100, 1], "i8")])
        case(f"{name}/integers and wider ones", name, [tensor([100, 3], "i8"), tensor([300, 1], "i64")])
        case(f"{name}/integers and floats", name, [tensor([1, 3], "i32"), tensor([0.5, 1.0])])
        case(f"{name}/floats and integers", name, [tensor([0.5, 1.0]), tensor([1, 3], "i32")], tolerance=2e-7)
        case(f"{name}/bools", name, [tensor([0, 1], "bool"), tensor([1, 1], "bool")])
        case(f"{name}/bools and integers", name, [tensor([0, 1], "bool"), tensor([1, 3], "i32")])
        case(f"{name}/a larger operand", name, [tensor([1.0]), tensor([1.0, 2.0])])
        case(f"{name}/more dimensions", name, [tensor([1.0]), tensor([[1.0]])])
        case(f"{name}/a leaf", name, [leaf([1.0]), tensor([2.0])])
        case(f"{name}/beside a leaf", name, [tensor([1.0]), leaf([2.0])], differs=RECORDED, ours=error("STATE"))
    case("copy_from/converted", "copy_from", [tensor([[1, 2], [3, 4]], "i32"), tensor([-1.5, 2.5])])
    case("copy_from/scalar", "copy_from", [tensor([1.0, 2.0], "f16"), tensor(7)])
    case("copy_from/a larger source", "copy_from", [tensor([1.0]), tensor([1.0, 2.0])])
    case("copy_from/a leaf", "copy_from", [leaf([1.0]), tensor([2.0])])
    case("copy_from/a source that asks for a gradient", "copy_from", [tensor([1.0]), leaf([2.0])], differs=RECORDED,
         ours=error("STATE"))


for part in (numbers, comparisons, in_place):
    part()
