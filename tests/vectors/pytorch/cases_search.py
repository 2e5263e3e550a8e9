"""Places of equal and missing values and NaN; counts with weights; repeated elements, diagonals and grids."""
from case import INF, NAN, case, empty, error, leaf, tensor

TWO_DTYPES = "searchsorted, isin of two dtypes"
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def searches():
    for right in (False, True):
        settings = {"right": right}
        label = "behind" if right else "before"
        case(f"searchsorted/{label}", "searchsorted", [tensor([1.0, 2.0, 2.0, 5.0]),
                                                       tensor([[0.0, 1.0, 2.0], [3.0, 5.0, 9.0]])], attributes=settings)
        case(f"searchsorted/infinities, {label}", "searchsorted",
             [tensor([-INF, -0.0, INF]), tensor([0.0, INF, -INF, NAN])],
             attributes=settings)
        case(f"searchsorted/rows, {label}", "searchsorted", [tensor(ROWS), tensor([[2.0, 9.0], [2.0, 5.0]])],
             attributes=settings)
        case(f"searchsorted/NaN, {label}", "searchsorted", [tensor([1.0, NAN, NAN]), tensor([2.0, NAN])],
             attributes=settings, differs="searchsorted with NaN",
             ours={"outputs": [tensor([1, 3 if right else 1], "i64")]})
        case(f"searchsorted/i16, {label}", "searchsorted", [tensor([-5, 0, 300], "i16"), tensor([0, 301], "i16")],
             attributes=settings)
    settings = {"right": False}
    case("searchsorted/scalar value", "searchsorted", [tensor([1.0, 2.0]), tensor(2.0)], attributes=settings)
    case("searchsorted/empty", "searchsorted", [empty(0), tensor([1.0])], attributes=settings)
    case("searchsorted/no values", "searchsorted", [tensor([1.0]), empty(0)], attributes=settings)
    case("searchsorted/other rows", "searchsorted", [tensor(ROWS), tensor([1.0, 2.0])], attributes=settings)
    case("searchsorted/other dtypes", "searchsorted", [tensor([1.0]), tensor([1], "i64")], attributes=settings,
         differs=TWO_DTYPES, ours=error("DTYPE_MISMATCH"))


def sets():
    case("isin/special", "isin", [tensor([[NAN, -0.0, INF], [1.0, 2.0, -INF]]), tensor([NAN, 0.0, INF, 2.0])])
    case("isin/i64", "isin", [tensor([3, 2**40, -1], "i64"), tensor([[2**40], [3]], "i64")])
    case("isin/no elements", "isin", [tensor([1.0]), empty(0)])
    case("isin/empty", "isin", [empty(0, 2), tensor([1.0])])
    case("isin/scalars", "isin", [tensor(1.0), tensor(1.0)])
    case("isin/other dtypes", "isin", [tensor([1.0, 2.0]), tensor([1], "i64")], differs=TWO_DTYPES,
         ours=error("DTYPE_MISMATCH"))


def counts():
    numbers = tensor([3, 0, 3, 1], "i64")
    case("bincount/plain", "bincount", [numbers, None], attributes={"minlength": 0})
    case("bincount/longer", "bincount", [numbers, None], attributes={"minlength": 6})
    case("bincount/weights", "bincount", [numbers, tensor([0.5, 1.0, 0.25, NAN])], attributes={"minlength": 2})
    case("bincount/f64 weights", "bincount", [numbers, tensor([0.5, 1.0, 0.25, 2.0], "f64")],
         attributes={"minlength": 0})
    case("bincount/f16 weights", "bincount", [numbers, tensor([0.5, 1.0, 0.25, 2.0], "f16")],
         attributes={"minlength": 0}, differs="bincount, dtype of weights", ours={"outputs": [tensor([1.0, 2.0, 0.0, 0.75], "f16")]})
    case("bincount/i32", "bincount", [tensor([2, 2], "i32"), None], attributes={"minlength": 0})
    case("bincount/u8", "bincount", [tensor([2, 2], "u8"), None], attributes={"minlength": 0},
         differs="bincount of narrow integers", ours=error("DTYPE_MISMATCH"))
    case("bincount/empty", "bincount", [tensor([], "i64"), None], attributes={"minlength": 0})
    case("bincount/empty, longer", "bincount", [tensor([], "i64"), None], attributes={"minlength": 2})
    case("bincount/negative", "bincount", [tensor([1, -1], "i64"), None], attributes={"minlength": 0})
    case("bincount/negative length", "bincount", [numbers, None], attributes={"minlength": -1})
    case("bincount/two dimensions", "bincount", [tensor([[1]], "i64"), None], attributes={"minlength": 0})
    case("bincount/other weights", "bincount", [numbers, tensor([1.0])], attributes={"minlength": 0})
    case("bincount/floats", "bincount", [tensor([1.0]), None], attributes={"minlength": 0})


def repeats():
    for count in (0, 1, 2, -1):
        case(f"repeat_interleave/{count}", "repeat_interleave", [leaf([[1.0, NAN]])],
             attributes={"count": count, "dim": -1}, upstream=[[1.0, 2.0, 3.0, 4.0][:2 * max(count, 0)]])
    case("repeat_interleave/first dimension", "repeat_interleave", [leaf(ROWS)], attributes={"count": 2, "dim": 0},
         upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]])
    case("repeat_interleave/empty", "repeat_interleave", [empty(0, 2)], attributes={"count": 3, "dim": 0})
    case("repeat_interleave/scalar", "repeat_interleave", [tensor(5.0)], attributes={"count": 3, "dim": 0})
    case("repeat_interleave/no such dimension", "repeat_interleave", [tensor(ROWS)], attributes={"count": 1, "dim": 2})
    case("repeat_interleave_counts/some", "repeat_interleave_counts", [leaf(ROWS), tensor([2, 0, 1], "i64")],
         attributes={"dim": 1}, upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    case("repeat_interleave_counts/i32", "repeat_interleave_counts", [tensor(ROWS), tensor([0, 2], "i32")],
         attributes={"dim": 0})
    case("repeat_interleave_counts/none", "repeat_interleave_counts", [leaf(ROWS), tensor([0, 0], "i64")],
         attributes={"dim": 0}, upstream=[])
    case("repeat_interleave_counts/empty", "repeat_interleave_counts", [empty(0, 2), tensor([], "i64")],
         attributes={"dim": 0})
    case("repeat_interleave_counts/negative", "repeat_interleave_counts", [tensor([1.0, 2.0]), tensor([1, -1], "i64")],
         attributes={"dim": 0})
    case("repeat_interleave_counts/one count", "repeat_interleave_counts", [tensor([1.0, 2.0]), tensor([2], "i64")],
         attributes={"dim": 0}, differs="repeat_interleave by one count in a tensor", ours=error("SHAPE_MISMATCH"))
    case("repeat_interleave_counts/other size", "repeat_interleave_counts", [tensor([1.0]), tensor([1, 1], "i64")],
         attributes={"dim": 0})


def diagonals():
    for diagonal in (0, 1, -2, 5):
        case(f"diag/of a matrix, {diagonal}", "diag", [leaf(ROWS)], attributes={"diagonal": diagonal},
             upstream=[1.0, 2.0][:{0: 2, 1: 2}.get(diagonal, 0)])
        size = 2 + abs(diagonal)
        case(f"diag/of a vector, {diagonal}", "diag", [leaf([1.0, NAN])], attributes={"diagonal": diagonal},
             upstream=[[float(i * size + j) for j in range(size)] for i in range(size)])
    case("diag/empty", "diag", [empty(0)], attributes={"diagonal": 0})
    case("diag/bool", "diag", [tensor([1, 0], "bool")], attributes={"diagonal": 0})
    case("diag/scalar", "diag", [tensor(5.0)], attributes={"diagonal": 0})
    case("diag/three dimensions", "diag", [tensor([[[1.0]]])], attributes={"diagonal": 0})


def grids():
    for xy in (False, True):
        settings = {"xy": xy}
        label = "xy" if xy else "ij"
        case(f"meshgrid/{label}", "meshgrid", [leaf([1.0, 2.0]), leaf([3.0, NAN, 5.0])], attributes=settings,
             upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] if xy else [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        case(f"meshgrid/three, {label}", "meshgrid", [tensor([1, 2], "i64"), tensor(3, "i64"), tensor([4, 5], "i64")],
             attributes=settings)
        case(f"meshgrid/one, {label}", "meshgrid", [tensor([1.0, 2.0])], attributes=settings)
        case(f"meshgrid/empty, {label}", "meshgrid", [empty(0), tensor([1.0])], attributes=settings)
    case("meshgrid/matrix", "meshgrid", [tensor(ROWS)], attributes={"xy": False})
    case("meshgrid/two dtypes", "meshgrid", [tensor([1.0]), tensor([2], "i64")], attributes={"xy": False},
         differs="meshgrid of two dtypes", ours={"outputs": [tensor([[1.0]]), tensor([[2]], "i64")]})


for part in (searches, sets, counts, repeats, diagonals, grids):
    part()
