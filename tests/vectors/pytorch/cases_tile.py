"""Repeated and rotated tensors, equally spaced numbers, identities and one-hot vectors."""
from case import case, empty, error, leaf, tensor

MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def tiles():
    for repeats in ([2], [2, 1], [1, 3], [2, 1, 2], [0, 2], [1, 1], []):
        case(f"tile/{repeats}", "tile", [tensor(MATRIX)], attributes={"repeats": repeats})
    case("tile/gradient", "tile", [leaf(MATRIX)], attributes={"repeats": [2, 1, 2]})
    case("tile/scalar", "tile", [leaf(2.0)], attributes={"repeats": [3]})
    case("tile/empty", "tile", [empty(0, 3)], attributes={"repeats": [2, 2]})
    case("tile/negative", "tile", [tensor(MATRIX)], attributes={"repeats": [1, -1]})
    for dtype in ("i64", "u8", "bool"):
        case(f"tile/{dtype}", "tile", [tensor([0, 1], dtype)], attributes={"repeats": [2]})


def rolls():
    for dims, shifts in (([0], [1]), ([1], [1]), ([-1], [-4]), ([0, 1], [1, 2]), ([1], [0])):
        case(f"roll/{dims} by {shifts}", "roll", [leaf(MATRIX)], attributes={"dims": dims, "shifts": shifts},
             upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    case("roll/empty", "roll", [empty(0, 3)], attributes={"dims": [0, 1], "shifts": [1, 1]})
    case("roll/dimension out of range", "roll", [tensor([1.0])], attributes={"dims": [1], "shifts": [1]})
    case("roll/dimension twice", "roll", [tensor([1.0, 2.0, 3.0])], attributes={"dims": [0, 0], "shifts": [1, 1]},
         differs="roll along one dimension twice", ours=error("INVALID_ARGUMENT"))


def ranges():
    for dtype, start, end, count in (("f32", 0, 1, 5), ("f32", -3, 3, 4), ("f64", 0.1, 0.7, 7), ("f32", 5, 5, 3),
                                     ("f32", 2, 9, 1), ("f32", 2, 9, 0), ("bf16", 0, 1, 4), ("f16", 3, -3, 6),
                                     ("i64", 0, 10, 4), ("i32", -3, 3, 5), ("u8", 0, 255, 6)):
        case(f"linspace/{dtype} {start} to {end}, {count}", "linspace",
             attributes={"dtype": dtype, "start": start, "end": end, "count": count},
             tolerance=1e-15 if dtype == "f64" else 2e-7, absolute=1e-7)
    case("linspace/negative count", "linspace", attributes={"dtype": "f32", "start": 0, "end": 1, "count": -1})


def identities():
    for dtype in ("f32", "bf16", "i64", "bool"):
        case(f"eye/{dtype}", "eye", attributes={"dtype": dtype, "rows": 2, "columns": 3})
    case("eye/none", "eye", attributes={"dtype": "f32", "rows": 0, "columns": 3})
    case("eye/negative", "eye", attributes={"dtype": "f32", "rows": -1, "columns": 3})
    case("one_hot/vector", "one_hot", [tensor([2, 0, 1], "i64")], attributes={"classes": 3})
    case("one_hot/scalar", "one_hot", [tensor(1, "i64")], attributes={"classes": 2})
    case("one_hot/empty", "one_hot", [empty(0, 2, dtype="i64")], attributes={"classes": 4})
    case("one_hot/outside", "one_hot", [tensor([3], "i64")], attributes={"classes": 3})
    case("one_hot/negative", "one_hot", [tensor([-1], "i64")], attributes={"classes": 3})
    case("one_hot/i32", "one_hot", [tensor([1], "i32")], attributes={"classes": 2}, differs="one_hot",
         ours={"outputs": [tensor([[0, 1]], "i64")]})


for part in (tiles, rolls, ranges, identities):
    part()
