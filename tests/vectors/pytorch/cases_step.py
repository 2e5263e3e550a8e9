"""Rounding, signs, functions that keep their digits near 0, and activations with a number, at special values."""
from case import AT_INFINITIES, INF, NAN, OF_INTEGERS, case, empty, error, leaf, tensor

NO_NAN = "elu, selu, hardswish at NaN, gradient"
SPECIAL = [NAN, -INF, -2.5, -1.5, -0.75, -0.5, -0.0, 0.0, 0.5, 0.75, 1.5, 2.5, INF]
TINY = [-1e-5, -1e-20, -1e-42, 1e-42, 1e-20, 1e-5]

OF_1_AND_0 = {"hardswish": [2.0 / 3.0, 0.0], "mish": [0.8650983882673103, 0.0], "selu": [1.0507009873554805, 0.0],
              "log_sigmoid": [-0.31326168751822286, -0.6931471805599453]}


def steps():
    for name in ("floor", "ceil", "round", "trunc", "sign"):
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
    for name in ("tan", "log2", "log10"):
        case(f"{name}/special", name, [leaf(SPECIAL)], tolerance=5e-7)
        case(f"{name}/special/f64", name, [leaf(SPECIAL, "f64")], tolerance=1e-15)
        case(f"{name}/special/bf16", name, [tensor(SPECIAL, "bf16")], tolerance=0.004)
        case(f"{name}/tiny", name, [leaf(TINY)], tolerance=5e-7)
        case(f"{name}/integers", name, [tensor([0, 1, 3], "i32")], tolerance=3e-7)
        case(f"{name}/empty", name, [empty(0, grad=True)], upstream=[])
    case("log2/powers", "log2", [tensor([2.0**-126, 0.125, 8.0, 2.0**100])])
    case("tan/large", "tan", [leaf([1e5, -1e10, 1e30, 1.5707964, -4.712389])], tolerance=1e-6)
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
    case("elu/nan", "elu", [leaf([NAN])], attributes={"alpha": 1.5}, differs=NO_NAN,
         ours={"gradients": [[NAN]]})
    case("elu/tiny", "elu", [leaf(TINY, "f64")], attributes={"alpha": 1.5}, tolerance=1e-15)
    for name, attributes in (("leaky_relu", {"negative_slope": 0.25}), ("elu", {"alpha": 1.5})):
        case(f"{name}/empty", name, [empty(0, grad=True)], attributes=attributes, upstream=[])
        for dtype in ("f16", "bf16"):
            case(f"{name}/{dtype}", name, [tensor(SPECIAL, dtype)], attributes=attributes, tolerance=0.004)
        case(f"{name}/integers", name, [tensor([1, 2], "i32")], attributes=attributes)


def curves():
    for name in ("hardswish", "mish", "selu", "log_sigmoid"):
        case(f"{name}/special", name, [leaf([-30.0, -5.0] + SPECIAL[2:-1] + [5.0, 30.0])], tolerance=6e-7,
             absolute=1e-19)
        case(f"{name}/f64", name, [leaf(SPECIAL[2:-1], "f64")], tolerance=2e-15)
        for dtype in ("f16", "bf16"):
            case(f"{name}/{dtype}", name, [tensor(SPECIAL, dtype)], tolerance=0.004)
        case(f"{name}/tiny", name, [leaf(TINY)], tolerance=4e-7, absolute=3e-45)
        case(f"{name}/empty", name, [empty(0, grad=True)], upstream=[])
    for name in ("hardswish", "mish", "selu", "log_sigmoid"):
        case(f"{name}/integers", name, [tensor([1, 0], "i32")], tolerance=2e-7,
             differs=OF_INTEGERS,
             ours={"outputs": [tensor(OF_1_AND_0[name])]})
    case("hardswish/ends", "hardswish", [leaf([-INF, -1e30, -3.0, 3.0, 1e30, INF])], tolerance=2e-7)
    case("hardswish/nan", "hardswish", [leaf([NAN])], differs=NO_NAN, ours={"gradients": [[NAN]]})
    case("selu/ends", "selu", [leaf([-INF, -200.0, 1e30, INF])], tolerance=2e-7)
    case("selu/nan", "selu", [leaf([NAN])], differs=NO_NAN, ours={"gradients": [[NAN]]})
    case("log_sigmoid/ends", "log_sigmoid", [leaf([NAN, -INF, -1e30, -100.0, 100.0, 1e30, INF])], tolerance=4e-7,
         absolute=1e-44)
    case("mish/nan", "mish", [leaf([NAN])])
    case("mish/infinities", "mish", [leaf([INF, -INF])],
         differs=AT_INFINITIES, ours={"gradients": [[1.0, 0.0]]})


def replacements():
    for dtype in ("f64", "f32", "f16", "bf16"):
        case(f"nan_to_num/{dtype}", "nan_to_num", [leaf(SPECIAL, dtype)], attributes={"nan": 0.0})
        case(f"nan_to_num/numbers/{dtype}", "nan_to_num", [leaf(SPECIAL, dtype)],
             attributes={"nan": 0.1, "posinf": 1e6, "neginf": "-inf"})
    case("nan_to_num/nan stays", "nan_to_num", [leaf(SPECIAL)], attributes={"nan": "nan", "posinf": -1.0})
    for dtype in ("i64", "i32", "i16", "i8", "u8", "bool"):
        case(f"nan_to_num/{dtype}", "nan_to_num", [tensor([0, 1], dtype)], attributes={"nan": 3.0})
    case("nan_to_num/empty", "nan_to_num", [empty(0, grad=True)], attributes={"nan": 0.0}, upstream=[])
    case("is_inf/special", "is_inf", [tensor(SPECIAL)])
    case("is_inf/integers", "is_inf", [tensor([-1, 0, 7], "i32")])


for part in (curves, replacements, steps, functions, activations):
    part()
