"""Rounding, signs, functions that keep their digits near 0, and activations with a number, at special values."""
from case import INF, NAN, case, empty, error, leaf, tensor

SPECIAL = [NAN, -INF, -2.5, -1.5, -0.75, -0.5, -0.0, 0.0, 0.5, 0.75, 1.5, 2.5, INF]
TINY = [-1e-5, -1e-20, -1e-42, 1e-42, 1e-20, 1e-5]


def steps():
    for name in ("floor", "ceil", "round", "sign"):
        for dtype in ("f64", "f32", "f16", "bf16"):
            case(f"{name}/special/{dtype}", name, [leaf(SPECIAL, dtype)])
        for dtype in ("i64", "i32", "i16", "i8"):
            case(f"{name}/{dtype}", name, [tensor([-3, 0, 4], dtype)])
        case(f"{name}/u8", name, [tensor([0, 200], "u8")])
        case(f"{name}/bool", name, [tensor([0, 1], "bool")])
        case(f"{name}/large", name, [tensor([-1e30, 8388607.5, 8388609.0, 1e30])])
        case(f"{name}/empty", name, [empty(2, 0, grad=True)], upstream=[])


def functions():
    for name in ("erf", "log1p", "expm1"):
        case(f"{name}/special", name, [leaf(SPECIAL)], tolerance=3e-7)
        case(f"{name}/special/f64", name, [leaf(SPECIAL, "f64")], tolerance=4e-15)
        case(f"{name}/special/bf16", name, [tensor(SPECIAL, "bf16")], tolerance=0.004)
        case(f"{name}/tiny", name, [leaf(TINY)], tolerance=3e-7, absolute=2e-45)
        case(f"{name}/integers", name, [tensor([0, 1, 3], "i32")], tolerance=3e-7)
        case(f"{name}/empty", name, [empty(0, grad=True)], upstream=[])
    case("log1p/ends", "log1p", [leaf([-1.0, -0.99999994, 1e38])], tolerance=3e-7)
    case("expm1/ends", "expm1", [leaf([-200.0, -20.0, 88.0, 90.0])], tolerance=3e-7, absolute=1e-7)
    case("erf/ends", "erf", [leaf([-1e38, -10.0, 4.0, 9.0, 1e38])], tolerance=2e-6)


def activations():
    for slope in (0.01, 0.0, -0.5, 2.0):
        case(f"leaky_relu/slope {slope}", "leaky_relu", [leaf(SPECIAL[2:])], attributes={"negative_slope": slope},
             tolerance=2e-7)
    case("leaky_relu/nan and infinities", "leaky_relu", [leaf([NAN, -INF, INF])], attributes={"negative_slope": 0.5})
    for alpha in (1.0, 0.5, 0.0):
        case(f"elu/alpha {alpha}", "elu", [leaf(SPECIAL[1:])], attributes={"alpha": alpha}, tolerance=3e-7)
    case("elu/nan", "elu", [leaf([NAN])], attributes={"alpha": 1.5}, differs="elu at NaN, gradient",
         ours={"gradients": [[NAN]]})
    case("elu/tiny", "elu", [leaf(TINY, "f64")], attributes={"alpha": 1.5}, tolerance=1e-15)
    for name, attributes in (("leaky_relu", {"negative_slope": 0.25}), ("elu", {"alpha": 1.5})):
        case(f"{name}/empty", name, [empty(0, grad=True)], attributes=attributes, upstream=[])
        for dtype in ("f16", "bf16"):
            case(f"{name}/{dtype}", name, [tensor(SPECIAL, dtype)], attributes=attributes, tolerance=0.004)
        case(f"{name}/integers", name, [tensor([1, 2], "i32")], attributes=attributes)


for part in (steps, functions, activations):
    part()
