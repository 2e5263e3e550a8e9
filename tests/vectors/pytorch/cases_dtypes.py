"""Result dtypes as tables over pairs of dtypes, by kind of operation."""
from case import OF_INTEGERS, case, only

ALL_DTYPES = ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "u8", "bool"]
COMPUTED = [dtype for dtype in ALL_DTYPES if not dtype.startswith("f8")]
INTEGERS = COMPUTED[4:]


def is_integer(dtype):
    return dtype in INTEGERS


def unlike(theirs, rows, change):
    """A table in which `change` returns the entry that differs from PyTorch's, or None."""
    return {"table": [[change(row, dtype) or theirs["table"][i][j] for j, dtype in enumerate(COMPUTED)]
                      for i, row in enumerate(rows)]}


# halftone returns a dtype where PyTorch raises an error.
def of_pow(a, b):
    return "f32" if is_integer(a) and is_integer(b) else None


def of_sub(a, b):
    return (b if a == "bool" else a) if "bool" in (a, b) and a != b else None


def of_one(operation, dtype):
    if operation in ("relu", "log_sum_exp") and is_integer(dtype):
        return "error"
    if operation == "silu":
        return "f32" if is_integer(dtype) else None
    return {"abs": "bool", "argmax": "i64"}.get(operation) if dtype == "bool" else None


DIFFERENCES = {"pow": ("pow of two integers", of_pow),
               "sub": ("abs, argmax, argmin of bool, sub of a bool and a number", of_sub)}


def pairs():
    case("promote_types", "promote_table", attributes={"dtypes": COMPUTED})
    small = ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "bool"]
    ours = [["f32"] * 7, ["f32", "f16", "f32", "f16", "f16", "f16", "f16"],
            ["f32", "f32", "bf16", "bf16", "bf16", "bf16", "bf16"],
            ["f32", "f16", "bf16", "f8e4m3", "f16", "f8e4m3", "f8e4m3"],
            ["f32", "f16", "bf16", "f16", "f8e5m2", "f8e5m2", "f8e5m2"],
            ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "i32"],
            ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "bool"]]
    case("promote_types/8-bit floats", "promote_table", attributes={"dtypes": small},
         differs="promotion of 8-bit floats", ours={"table": ours})
    for operation in ("add", "sub", "div", "maximum", "pow", "eq", "where"):
        for label, ndims in (("vectors", [1, 1]), ("a vector and a scalar", [1, 0])):
            if ndims == [1, 0] and operation not in ("add", "div", "eq"):
                continue
            row, change = DIFFERENCES.get(operation, (None, None))
            ours = only(row, differs=row, ours=lambda theirs, change=change: unlike(theirs, COMPUTED, change))
            case(f"dtypes of {operation}/{label}", "dtype_table",
                 attributes={"of": operation, "ndims": ndims, "dtypes": COMPUTED}, **ours)


def singles():
    settings = {name: {} for name in (
        "exp log sqrt rsqrt reciprocal sin cos sigmoid tanh neg logical_not is_nan is_finite").split()}
    settings.update({"sum": {"dims": [0]}, "mean": {"dims": [0]}, "amax": {"dims": [0]}, "cumsum": {"dim": 0},
                     "softmax": {"dim": 0}, "log_softmax": {"dim": 0}, "var": {"dims": [0], "correction": 0},
                     "gelu": {"form": "erf"}, "tril": {"diagonal": 0}, "flip": {"dims": [0]},
                     "rescale": {"scale": 1.0, "offset": 0.0}})
    case("dtypes of one", "dtype_table_of_one",
         attributes={"of": list(settings), "settings": settings, "dtypes": COMPUTED})
    of_integers, of_bools = "relu, log_sum_exp of integers", DIFFERENCES["sub"][0]
    for operation, row, given in (("relu", of_integers, {}), ("log_sum_exp", of_integers, {"dims": [0]}),
                                  ("abs", of_bools, {}), ("argmax", of_bools, {"dim": 0}),
                                  ("silu", OF_INTEGERS, {})):
        case(f"dtypes of {operation}", "dtype_table_of_one",
             attributes={"of": [operation], "settings": {operation: given}, "dtypes": COMPUTED}, differs=row,
             ours=lambda theirs, operation=operation: unlike(theirs, [operation], of_one))


pairs()
singles()
