"""Functions of one, two and three tensors at NaN, infinities, zeros of both signs, ties and the ends of their range."""
from case import AT_INFINITIES, INF, NAN, case, empty, error, leaf, tensor

SPECIAL = [NAN, -INF, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, INF]
ENDS = [-1e38, -200.0, -104.0, -90.0, -88.0, -20.5, -20.0, -10.0, - \
    1e-5, -1e-30, 1e-30, 1e-5, 10.0, 20.0, 20.5, 88.0, 90.0, 200.0, 1e38]
BEYOND = "masked_fill, clamp with a number beyond the dtype"
RANGE = "cast of a float that an integer does not hold"
TWICE = "cast of f64, i32 or i64 to f16 or bf16"
BOOLS = "abs, argmax, argmin of bool, sub of a bool and a number"
# The tolerance is the bound in the public header for the values, plus the error of PyTorch's own gradient.
BOUNDED = {"exp": 2e-7, "log": 2e-7, "sqrt": 1.2e-7, "rsqrt": 2.5e-7, "reciprocal": 1.2e-7, "sin": 2e-7, "cos": 2e-7,
           "sigmoid": 5e-7, "tanh": 4e-7}


def unary():
    for name, tolerance in BOUNDED.items():
        case(f"{name}/special", name, [leaf(SPECIAL)], tolerance=tolerance)
        case(f"{name}/empty", name, [empty(2, 0, grad=True)], upstream=[])
    for name in ("exp", "rsqrt"):
        case(f"{name}/special/f64", name, [leaf(SPECIAL, "f64")], tolerance=1e-15)
        case(f"{name}/special/bf16", name, [tensor(SPECIAL, "bf16")], tolerance=0.004)
    for name in ("exp", "sigmoid", "tanh"):
        case(f"{name}/ends", name, [leaf(ENDS)], tolerance=4e-7, absolute=1e-38)
    case("log/subnormal", "log", [tensor([1e-45, 1e-40, 1.2e-38, 3.4e38])], tolerance=2e-7)
    case("sqrt/subnormal", "sqrt", [tensor([1e-45, 1e-40, 1.2e-38, 3.4e38])], tolerance=1e-7)
    case("rsqrt/subnormal", "rsqrt", [tensor([1e-45, 1e-40, 1.2e-38, 3.4e38])], tolerance=2.5e-7)
    case("reciprocal/subnormal", "reciprocal", [tensor([1e-45, 1e-40, 1.2e-38, 3.4e38, -1e-45])], tolerance=2e-7)
    case("exp/f16 overflow", "exp", [tensor([11.0, 11.1, 12.0, -18.0], "f16")], tolerance=0.001)
    case("tanh/f16 ends", "tanh", [tensor([-65504.0, 5.0, 65504.0], "f16")], tolerance=0.001)


def activations():
    case("relu/special", "relu", [leaf([x for x in SPECIAL if str(x) != "-0.0"])])
    case("relu/special/f64", "relu", [leaf([x for x in SPECIAL if str(x) != "-0.0"], "f64")])
    case("relu/-0", "relu", [leaf([-0.0])], differs="relu of -0", ours={"outputs": [tensor([0.0])]})
    case("relu/integers", "relu", [tensor([-1, 2], "i32")], differs="relu, log_sum_exp of integers",
         ours=error("DTYPE_MISMATCH"))
    case("silu/special", "silu", [leaf(SPECIAL[2:-1])], tolerance=5e-7)
    case("silu/infinities", "silu", [leaf([INF, -INF])], differs=AT_INFINITIES,
         ours={"gradients": [[1.0, 0.0]]})
    case("gelu/tanh, far", "gelu", [leaf([1e38, -1e38])], attributes={"form": "tanh"},
         differs=AT_INFINITIES, ours={"gradients": [[1.0, 0.0]]}, absolute=1e-30)
    case("silu/ends", "silu", [leaf(ENDS)], tolerance=6e-7, absolute=1e-37)
    case("softplus/special", "softplus", [leaf(SPECIAL)], tolerance=5e-7)
    case("softplus/below the threshold", "softplus", [leaf([x for x in ENDS if x <= 20])], tolerance=5e-7,
         absolute=1e-44)
    case("softplus/above the threshold", "softplus", [leaf([20.0, 21.0], "f64")], differs="softplus", tolerance=1e-15,
         ours={"outputs": [tensor([20.000000002061153, 21.00000000075826], "f64")],
               "gradients": [[0.9999999979388463, 0.9999999992417439]]})
    for form in ("erf", "tanh"):
        case(f"gelu/{form}/special", "gelu", [leaf([NAN] + SPECIAL[2:-1])], attributes={"form": form}, tolerance=1e-6,
             absolute=1e-6)
        case(f"gelu/{form}/infinities", "gelu", [leaf([INF, -INF])], attributes={"form": form},
             differs=AT_INFINITIES, ours={"gradients": [[1.0, 0.0]]})
        case(f"gelu/{form}/ends", "gelu", [leaf(ENDS[1:-1])], attributes={"form": form}, tolerance=1e-6, absolute=1e-6)
    for name in ("relu", "silu", "softplus"):
        case(f"{name}/empty", name, [empty(0, grad=True)], upstream=[])
    case("gelu/empty", "gelu", [empty(0, 3, grad=True)], attributes={"form": "erf"}, upstream=[])


def signs():
    case("neg/special", "neg", [leaf(SPECIAL)])
    case("abs/special", "abs", [leaf(SPECIAL[1:])])
    case("abs/nan", "abs", [leaf([NAN, 1.0])])
    case("abs/nan, infinite gradient", "abs", [leaf([NAN, NAN])], upstream=[INF, 1.0], differs="abs of NaN, gradient",
         ours={"gradients": [[0.0, 0.0]]})
    for dtype, least in (("i8", -128), ("i16", -32768), ("i32", -2**31), ("i64", -2**63)):
        case(f"abs/{dtype} wraps", "abs", [tensor([least, -1, 0], dtype)])
        case(f"neg/{dtype} wraps", "neg", [tensor([least, -1, 0], dtype)])
    case("neg/u8 wraps", "neg", [tensor([0, 1, 255], "u8")])
    case("neg/bool", "neg", [tensor([1, 0], "bool")])
    case("abs/bool", "abs", [tensor([1, 0], "bool")], differs=BOOLS, ours={"outputs": [tensor([1, 0], "bool")]})
    for name in ("is_nan", "is_finite", "logical_not"):
        case(f"{name}/special", name, [tensor(SPECIAL)])
        case(f"{name}/integers", name, [tensor([-1, 0, 7], "i32")])


def grid(values, others=None):
    """A column and a row; broadcasting pairs each value with each other."""
    others = values if others is None else others
    return [[x] for x in values], [others]


def binary():
    column, row = grid([NAN, -INF, -2.0, -0.0, 0.0, 2.0, INF])
    for name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or"):
        case(f"{name}/special", name, [tensor(column), tensor(row)])
    for name in ("add", "sub", "mul", "div"):
        a, b = grid([-INF, -2.0, -0.0, 0.0, 2.0, INF])
        flat_a, flat_b = zip(*[(x[0], y) for x in a for y in b[0]])
        case(f"{name}/gradients", name, [leaf(list(flat_a)), leaf(list(flat_b))], tolerance=1e-7)
    case("div/gradients beside tiny divisors", "div", [leaf([0.0, 1e-35, -2.0]), leaf([1e-39, 1e-30, 1e-25])],
         upstream=[1.0, 1e10, 1e-15], tolerance=4e-7)
    for name in ("maximum", "minimum"):
        a, b = grid([NAN, -INF, -2.0, 2.0, INF])
        flat_a, flat_b = zip(*[(x[0], y) for x in a for y in b[0]])
        case(f"{name}/special", name, [leaf(list(flat_a)), leaf(list(flat_b))])
        case(f"{name}/zeros of both signs", name, [tensor([0.0, -0.0]), tensor([-0.0, 0.0])],
             differs="maximum, minimum of -0 and 0", ours={"outputs": [tensor([-0.0, 0.0])]})
        case(f"{name}/ties", name, [leaf([1.0, 2.0, 3.0]), leaf([1.0, 1.0, 3.0])], upstream=[1.0, 1.0, 3.0])
        case(f"{name}/integers", name, [tensor([-128, 127], "i8"), tensor([200, 200], "u8")])
        case(f"{name}/bools", name, [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")])
    for name in ("add", "mul", "maximum", "eq"):
        case(f"{name}/empty broadcasts", name, [empty(2, 0), tensor([[1.0]])])
    case("add/empty against 2", "add", [empty(0), tensor([1.0, 2.0])])
    case("mul/broadcast gradient", "mul", [leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0])])
    case("mul/broadcast gradient of nothing", "mul", [leaf([[1.0], [2.0]]), empty(2, 0, grad=True)], upstream=[])


def integers():
    for name in ("add", "sub", "mul"):
        case(f"{name}/i8 wraps", name, [tensor([127, -128, 100, -100], "i8"), tensor([1, -1, 100, 100], "i8")])
        case(f"{name}/u8 wraps", name, [tensor([255, 0, 200], "u8"), tensor([1, 1, 200], "u8")])
        case(f"{name}/i64 wraps", name, [tensor([2**63 - 1, -2**63], "i64"), tensor([2**63 - 1, -2**63], "i64")])
        case(f"{name}/bools", name, [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")])
        case(f"{name}/u8 and i8", name, [tensor([255, 1], "u8"), tensor([-128, -1], "i8")])
    case("div/integers", "div", [tensor([7, -7, 1, 0, -1], "i32"), tensor([2, 2, 0, 0, 0], "i32")])
    case("div/large integers", "div", [tensor([2**53 + 1, 2**24 + 1], "i64"), tensor([1, 1], "i64")])
    case("div/bools", "div", [tensor([0, 1, 1], "bool"), tensor([1, 1, 0], "bool")])
    case("mul/8-bit floats", "mul", [tensor([2.0, 1.0], "f8e4m3"), tensor([3.0, 1.0], "f8e4m3")],
         differs="f8e4m3, f8e5m2 in arithmetic", ours=error("DTYPE_MISMATCH"))
    case("add/i64 and f32", "add", [tensor([2**24 + 1, 2**53 + 1], "i64"), tensor([0.0, 0.0])])
    case("mul/f16 overflow", "mul", [tensor([65504.0, 256.0], "f16"), tensor([2.0, 256.0], "f16")])
    case("add/f16 ties", "add", [tensor([2048.0, 2050.0], "f16"), tensor([1.0, 1.0], "f16")])
    case("add/f16 and bf16", "add", [tensor([65504.0], "f16"), tensor([1e38], "bf16")])
    case("add/a wider scalar", "add", [tensor([2.0**-8], "bf16"), tensor(1.0 + 2.0**-9 + 2.0**-20)],
         differs="add, sub, mul, div with a wider scalar tensor", ours={"outputs": [tensor([1.0078125], "bf16")]})
    row = "add, sub, mul, div of an integer and a 16-bit float"
    case("add/i64 and bf16", "add", [tensor([257], "i64"), tensor([2.0], "bf16")], differs=row,
         ours={"outputs": [tensor([260.0], "bf16")]})
    case("sub/a scalar of i32 and bf16", "sub", [tensor(257, "i32"), tensor([2.0], "bf16")], differs=row,
         ours={"outputs": [tensor([255.0], "bf16")]})
    case("div/i64 and f16", "div", [tensor([70000], "i64"), tensor([2.0], "f16")], differs=row,
         ours={"outputs": [tensor([35008.0], "f16")]})


def scaled_products():
    values = [NAN, -INF, -2.0, -0.0, 0.0, 0.5, INF]
    column, row = grid(values)
    for value in (1, 0.5, 0, "inf"):
        case(f"addcmul/special, {value}", "addcmul", [tensor(1.0), tensor(column), tensor(row)],
             attributes={"value": value})
        case(f"addcmul/gradients, {value}", "addcmul", [leaf(values), leaf([2.0] * 7), leaf(values[::-1])],
             attributes={"value": value})
    case("addcmul/an infinite addend", "addcmul", [leaf([INF, -INF]), leaf([1.0, 1.0]), leaf([INF, 2.0])],
         attributes={"value": -1})
    case("addcmul/value * a overflows", "addcmul", [tensor([0.0]), tensor([3e38]), tensor([0.1])],
         attributes={"value": 2})
    for dtype in ("f64", "f16", "bf16"):
        case(f"addcmul/{dtype}", "addcmul", [leaf([0.1, -1.0], dtype), leaf([0.3, 3.0], dtype), leaf([0.7, 1.5], dtype)],
             attributes={"value": 0.1}, tolerance=1e-15 if dtype == "f64" else 0.004)
    case("addcmul/broadcast", "addcmul", [leaf(1.0), leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0])],
         attributes={"value": 2}, upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    case("addcmul/empty", "addcmul", [empty(0, grad=True), leaf(1.0), leaf([2.0])], attributes={"value": 1}, upstream=[])
    for dtype in ("i64", "i32", "i16", "i8", "u8"):
        case(f"addcmul/{dtype}", "addcmul", [tensor([100, 1], dtype), tensor([10, 2], dtype), tensor([5, 3], dtype)],
             attributes={"value": 3})
    case("addcmul/a bool and integers", "addcmul", [tensor([1, 0], "bool"), tensor([10, 2], "i32"), tensor(3, "i64")],
         attributes={"value": -1})
    case("addcmul/bools", "addcmul", [tensor([1, 0], "bool")] * 3, attributes={"value": 1})
    case("addcmul/integers and a fraction", "addcmul", [tensor([1, 2], "i32")] * 3, attributes={"value": 0.5},
         differs="addcmul of integers and a fraction", ours=error("INVALID_ARGUMENT"))
    rounded = "addcmul with a wider scalar tensor, or of an integer and a 16-bit float"
    case("addcmul/bf16 and a scalar of f32", "addcmul",
         [tensor([2.0**-8], "bf16"), tensor([1.0], "bf16"), tensor(1.0 + 2.0**-9 + 2.0**-20)], attributes={"value": 1},
         differs=rounded, ours={"outputs": [tensor([1.0078125], "bf16")]})
    case("addcmul/i64 and bf16", "addcmul", [tensor([257], "i64"), tensor([1.0], "bf16"), tensor([2.0], "bf16")],
         attributes={"value": 1}, differs=rounded, ours={"outputs": [tensor([260.0], "bf16")]})
    case("addcmul/integers and a float", "addcmul", [tensor([1, 2], "i32"), tensor(0.5), tensor([3, 4], "i32")],
         attributes={"value": 0.5})
    case("addcmul/f16 beside a scalar of f64", "addcmul", [tensor([1.0, 2.0], "f16"), tensor(0.5, "f64"),
                                                           tensor([3.0, 4.0], "f16")], attributes={"value": 1})
    case("addcmul/f16 and bf16", "addcmul", [tensor([1.0], "f16"), tensor([0.5], "bf16"), tensor([0.1], "f16")],
         attributes={"value": 1}, tolerance=2e-7)


def wider_scalars():
    """A scalar tensor of a wider dtype is rounded to the other's first, an integer wraps."""
    for name in ("maximum", "minimum", "logical_and", "logical_or"):
        for scalar in (300, 256, -1):
            case(f"{name}/u8 and a scalar of i64, {scalar}", name, [tensor([48, 0, 255], "u8"), tensor(scalar, "i64")])
            case(f"{name}/a scalar of i64, {scalar}, and u8", name, [tensor(scalar, "i64"), tensor([48, 0], "u8")])
        case(f"{name}/i8 and a scalar of i32", name, [tensor([48, -3], "i8"), tensor(200, "i32")])
        case(f"{name}/f16 and a scalar of f32", name, [tensor([1.0, 0.0], "f16"), tensor(1e-9)])
    for name in ("maximum", "minimum"):
        case(f"{name}/bf16 and a scalar of f32", name, [leaf([1.0, 2.0], "bf16"), leaf(1.001)])
        case(f"{name}/i64 and bf16", name, [tensor([257, 1], "i64"), tensor([256.0, 2.0], "bf16")])
    case("pow/bf16 and a scalar of f32", "pow", [tensor([100.0, 3.0], "bf16"), tensor(7.02)], tolerance=0.004)
    case("pow/a scalar of f32 and bf16", "pow", [tensor(100.3), tensor([7.0, 3.0], "bf16")], tolerance=0.004)
    case("pow/i64 and bf16", "pow", [tensor([257], "i64"), tensor([2.0], "bf16")])


def comparisons():
    for name in ("eq", "lt", "ge"):
        case(f"{name}/i64 and f32", name, [tensor([2**24 + 1, 2**24, -1], "i64"), tensor([2.0**24, 2.0**24, NAN])])
        case(f"{name}/i64 and f64", name, [tensor([2**53 + 1, 2**53], "i64"), tensor([2.0**53, 2.0**53], "f64")])
        case(f"{name}/i64 beyond f64", name, [tensor([2**53 + 1, 2**63 - 1], "i64"), tensor([2**53, 2**63 - 2], "i64")])
        case(f"{name}/u8 and i8", name, [tensor([255, 128, 1], "u8"), tensor([-1, -128, 1], "i8")])
        case(f"{name}/bool and f32", name, [tensor([1, 0, 1], "bool"), tensor([1.0, -0.0, 0.5])])
        case(f"{name}/f32 and a scalar of f64", name, [tensor([0.1, 0.2]), tensor(0.1, "f64")])
        case(f"{name}/f32 and f64", name, [tensor([0.1, 0.5]), tensor([0.1, 0.5], "f64")])
        case(f"{name}/bf16 and a scalar of f32", name, [tensor([1.0, 0.1], "bf16"), tensor(0.1)])
        case(f"{name}/u8 and a scalar of i64", name, [tensor([1, 0, 44], "u8"), tensor(300, "i64")])
    case("eq/f16 and bf16", "eq", [tensor([1.0, 65504.0], "f16"), tensor([1.0, 65536.0], "bf16")])
    for name in ("logical_and", "logical_or"):
        case(f"{name}/mixed dtypes", name, [tensor([0, 1, 2], "i32"), tensor([0.0, -0.0, NAN])])


def powers():
    bases = [NAN, -INF, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, INF]
    exponents = [NAN, -INF, -3.0, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, INF]
    column, row = grid(bases, exponents)
    case("pow/special", "pow", [tensor(column), tensor(row)], tolerance=2e-7)
    for label, base in (("0", 0.0), ("-0", -0.0), ("2", 2.0), ("-2", -2.0), ("inf", INF)):
        case(f"pow/gradients of {label}", "pow", [leaf([base] * len(exponents)), leaf(exponents)], tolerance=4e-7)
    for label, upstream in (("infinite", INF), ("NaN", NAN)):
        case(f"pow/{label} gradient", "pow", [leaf([2.0, 0.0, 0.0, 3.0]), leaf([0.0, 1.0, 0.0, 2.0])],
             upstream=[upstream] * 4, tolerance=4e-7)
        case(f"pow_scalar/0, {label} gradient", "pow_scalar", [leaf([2.0, 0.0])], attributes={"exponent": 0},
             upstream=[upstream] * 2)
    for exponent, at_infinity, at_zero in ((0.5, INF, 0.0), (-0.5, 0.0, INF)):
        case(f"pow_scalar/{exponent}", "pow_scalar", [leaf(SPECIAL[2:5] + SPECIAL[6:])],
             attributes={"exponent": exponent}, tolerance=4e-7)
        case(f"pow_scalar/{exponent} of -inf and -0", "pow_scalar", [tensor([-INF, -0.0])],
             attributes={"exponent": exponent}, differs="pow_scalar by 0.5 and -0.5 at -infinity and -0",
             ours={"outputs": [tensor([at_infinity, at_zero])]})
    for exponent in (0, 1, 2, 3, -1, -2, 2.5):
        case(f"pow_scalar/{exponent}", "pow_scalar", [leaf(SPECIAL)], attributes={"exponent": exponent}, tolerance=4e-7)
    case("pow/integers", "pow", [tensor([2, -3, 0], "i32"), tensor([3, 3, 0], "i32")], differs="pow of two integers",
         ours={"outputs": [tensor([8.0, -27.0, 1.0])]})
    case("pow/integers, exponent below 0", "pow", [tensor([2, 1], "i32"), tensor([-1, -1], "i32")],
         differs="pow of two integers", ours={"outputs": [tensor([0.5, 1.0])]})
    case("pow_scalar/integers", "pow_scalar", [tensor([2, -3, 0], "i32")], attributes={"exponent": 3},
         differs="pow of two integers", ours={"outputs": [tensor([8.0, -27.0, 0.0])]})
    case("pow/integer to a fraction", "pow", [tensor([4, 0], "i64"), tensor([0.5, -1.0])], tolerance=2e-7)


def bounds():
    for label, low, high in (("both", -1.0, 1.0), ("low above high", 2.0, -2.0), ("no low", "-inf", 1.0),
                             ("no high", -1.0, "inf"), ("zero", 0.0, 0.0)):
        case(f"clamp/{label}", "clamp", [leaf(SPECIAL)], attributes={"low": low, "high": high})
    case("clamp/nan bound", "clamp", [tensor([1.0])], attributes={"low": "nan", "high": 1.0},
         differs="clamp with a NaN bound", ours=error("INVALID_ARGUMENT"))
    for low, high in ((-1, 1), (-0.5, 0.5)):
        case(f"clamp/integers to {high}", "clamp", [tensor([-2, 0, 2], "i32")], attributes={"low": low, "high": high},
             differs="clamp of integers", ours=error("DTYPE_MISMATCH"))
    case("clamp/f16, bounds beyond it", "clamp", [tensor([1.0, 65504.0, INF], "f16")],
         attributes={"low": -1e6, "high": 1e6}, differs=BEYOND, ours={"outputs": [tensor([1.0, 65504.0, INF], "f16")]})
    case("clamp/bf16, bound between two", "clamp", [tensor([1.0, 2.0], "bf16")], attributes={"low": 1.001, "high": 1.7})
    case("clamp/empty", "clamp", [empty(0, grad=True)], attributes={"low": 0.0, "high": 1.0}, upstream=[])


def choices():
    condition = tensor([1, 0, 1, 0], "bool")
    case("where/nan not chosen", "where", [condition, leaf([1.0, NAN, INF, 2.0]), leaf([NAN, 1.0, 3.0, INF])])
    case("where/infinite gradient not chosen", "where", [condition, leaf([1.0] * 4), leaf([2.0] * 4)],
         upstream=[INF, INF, NAN, NAN])
    case("where/broadcast", "where", [tensor([[1], [0]], "bool"), leaf([1.0, 2.0]), leaf(3.0)])
    case("where/empty", "where", [empty(0, dtype="bool"), tensor(1.0), tensor(2.0)])
    case("where/i64 and f32", "where", [tensor([1, 0], "bool"), tensor([2**24 + 1, 1], "i64"), tensor([0.5, 0.5])])
    case("where/condition of u8", "where", [tensor([1, 0], "u8"), tensor([1.0, 2.0]), tensor([3.0, 4.0])],
         differs="where with a condition that is not bool", ours=error("DTYPE_MISMATCH"))
    case("where/condition of f32", "where", [tensor([1.0, 0.0]), tensor([1.0, 2.0]), tensor([3.0, 4.0])])
    mask = tensor([1, 0, 1], "bool")
    for value in ("-inf", "nan", 0.5):
        case(f"masked_fill/{value}", "masked_fill", [leaf([1.0, NAN, INF]), mask], attributes={"value": value},
             upstream=[NAN, 2.0, INF])
    case("masked_fill/i8", "masked_fill", [tensor([1, 2, 3], "i8"), mask], attributes={"value": -128})
    case("masked_fill/bool", "masked_fill", [tensor([0, 0, 0], "bool"), mask], attributes={"value": 1})
    case("masked_fill/f16 beyond it", "masked_fill", [tensor([1.0, 2.0, 3.0], "f16"), mask], attributes={"value": 1e6},
         differs=BEYOND, ours={"outputs": [tensor([INF, 2.0, INF], "f16")]})
    case("masked_fill/f16, -inf", "masked_fill", [tensor([1.0, 2.0, 3.0], "f16"), mask], attributes={"value": "-inf"})
    case("masked_fill/fraction into i32", "masked_fill", [tensor([1, 2, 3], "i32"), mask], attributes={"value": 1.5})
    case("masked_fill/beyond i8", "masked_fill", [tensor([1, 2, 3], "i8"), mask], attributes={"value": 300},
         differs=BEYOND, ours={"outputs": [tensor([127, 2, 127], "i8")]})
    case("masked_fill/mask of i32", "masked_fill", [tensor([1.0, 2.0, 3.0]), tensor([1, 0, 1], "i32")],
         attributes={"value": 0})
    case("masked_fill/broadcast", "masked_fill", [leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), mask],
         attributes={"value": 0.0})
    case("masked_fill/input broadcasts", "masked_fill", [leaf([1.0, 2.0, 3.0]), tensor([[1, 0, 1], [0, 0, 1]], "bool")],
         attributes={"value": 0.0})


def casts():
    case("cast/f32 to i32", "cast", [tensor([-1.9, -0.5, 0.5, 1.9, 2.0**31 - 128])], attributes={"dtype": "i32"})
    case("cast/f32 to i32, out of range", "cast", [tensor([NAN, INF, -INF, 3e9, -3e9])], attributes={"dtype": "i32"},
         differs=RANGE, ours={"outputs": [tensor([0, 2**31 - 1, -2**31, 2**31 - 1, -2**31], "i32")]})
    case("cast/f32 to u8, out of range", "cast", [tensor([-1.0, 256.0, 300.0])],
         attributes={"dtype": "u8"}, differs=RANGE, ours={"outputs": [tensor([0, 255, 255], "u8")]})
    case("cast/f32 to bool", "cast", [tensor([NAN, -0.0, 0.0, 1e-45, INF])], attributes={"dtype": "bool"})
    case("cast/i32 to i8", "cast", [tensor([128, -129, 300, -1], "i32")], attributes={"dtype": "i8"})
    case("cast/i64 to f32", "cast", [tensor([2**24 + 1, 2**63 - 1, -2**63], "i64")], attributes={"dtype": "f32"})
    case("cast/i64 to f16", "cast", [tensor([65519, 65520, 2049], "i64")], attributes={"dtype": "f16"})
    case("cast/i8 to u8", "cast", [tensor([-1, -128, 127], "i8")], attributes={"dtype": "u8"})
    case("cast/f64 to f32", "cast", [leaf([1e300, -1e300, 1e-300, 1.0 + 2.0**-24, NAN], "f64")],
         attributes={"dtype": "f32"})
    case("cast/f64 to f16, no double rounding", "cast", [tensor([1.0 + 2.0**-11 + 2.0**-40], "f64")],
         attributes={"dtype": "f16"}, differs=TWICE, ours={"outputs": [tensor([1.0 + 2.0**-10], "f16")]})
    case("cast/f64 to bf16, no double rounding", "cast", [tensor([1.0 + 2.0**-8 + 2.0**-40], "f64")],
         attributes={"dtype": "bf16"}, differs=TWICE, ours={"outputs": [tensor([1.0 + 2.0**-7], "bf16")]})
    case("cast/i32 to bf16, no double rounding", "cast", [tensor([2**24 + 2**16 + 1], "i32")],
         attributes={"dtype": "bf16"}, differs=TWICE, ours={"outputs": [tensor([2.0**24 + 2.0**17], "bf16")]})
    case("cast/f32 to f8e4m3", "cast", [tensor([NAN, 448.0, 0.001, -0.0, 17.0])], attributes={"dtype": "f8e4m3"})
    case("cast/f32 to f8e4m3, overflow", "cast", [tensor([500.0, -500.0, INF, -INF])], attributes={"dtype": "f8e4m3"})
    case("cast/f32 to f8e5m2", "cast", [tensor([NAN, INF, 57344.0, 1e6, -1e6, 1e-6])], attributes={"dtype": "f8e5m2"})
    case("cast/gradient through bf16", "cast", [leaf([1.0, 1.001])], attributes={"dtype": "bf16"}, upstream=[1.0, 2.0])
    case("rescale/special", "rescale", [leaf(SPECIAL)], attributes={"scale": 2.0, "offset": -1.0})
    case("rescale/integers", "rescale", [tensor([1, 255], "u8")], attributes={"scale": 0.5, "offset": 0.0})
    case("rescale/0 times an infinity", "rescale", [leaf([INF, 1.0])], attributes={"scale": 0.0, "offset": 1.0})


for part in (unary, activations, signs, binary, integers, scaled_products, wider_scalars, comparisons, powers, bounds,
             choices, casts):
    part()
