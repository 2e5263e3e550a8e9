"""Writes by index: repeated and missing indices, reductions of zeros, ties and NaN; reads by lists of indices."""
from case import INF, NAN, case, empty, error, leaf, tensor

SCALARS = "gather, scatter_add, index_select of scalars"
LAST = "index_copy, scatter, index_put of equal indices"
TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
ROWS = [[10.0, 20.0], [30.0, 40.0]]
ALONG = {"dim": 0}


def indices(values, dtype="i64", shape=None):
    return tensor(values, dtype, shape)


def slices():
    case("index_add/repeats", "index_add", [leaf(TABLE), indices([2, 2]), leaf(ROWS)], attributes=ALONG,
         upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    case("index_add/i32, last dimension", "index_add",
         [tensor(TABLE), indices([1], "i32"), tensor([[1.0], [NAN], [INF]])],
         attributes={"dim": -1})
    case("index_copy/each once", "index_copy", [leaf(TABLE), indices([2, 0]), leaf(ROWS)], attributes=ALONG,
         upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    case("index_copy/repeats", "index_copy", [tensor(TABLE), indices([2, 2]), tensor(ROWS)], attributes=ALONG)
    case("index_copy/repeats, gradient", "index_copy", [leaf(TABLE), indices([2, 2]), leaf(ROWS)], attributes=ALONG,
         upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], differs=LAST,
         ours={"gradients": [[1.0, 2.0, 3.0, 4.0, 0.0, 0.0], None, [0.0, 0.0, 5.0, 6.0]]})
    for name in ("index_add", "index_copy"):
        case(f"{name}/empty", name, [leaf(TABLE), indices([]), empty(0, 2, grad=True)], attributes=ALONG)
        case(f"{name}/too far", name, [tensor(TABLE), indices([3, 0]), tensor(ROWS)], attributes=ALONG)
        case(f"{name}/other sizes", name, [tensor(TABLE), indices([1]), tensor(ROWS)], attributes=ALONG)
        case(f"{name}/other dtypes", name, [tensor([1.0]), indices([0]), tensor([1.0], "f64")], attributes=ALONG)
        case(f"{name}/bool", name, [tensor([1, 0], "bool"), indices([1]), tensor([1], "bool")], attributes=ALONG)


def elements():
    case("scatter/each once", "scatter", [leaf([1.0, 2.0, 3.0]), indices([2, 0]), leaf([10.0, NAN])], attributes=ALONG,
         upstream=[1.0, 2.0, 3.0])
    case("scatter/smaller than both", "scatter", [tensor(TABLE), indices([[1]]), tensor(ROWS)], attributes={"dim": 1})
    case("scatter/i32", "scatter", [tensor(TABLE), indices([[2, 0]], "i32"), tensor(ROWS)], attributes=ALONG)
    case("scatter/repeats", "scatter", [tensor([1.0, 2.0]), indices([1, 1]), tensor([10.0, 20.0])], attributes=ALONG)
    case("scatter/repeats, gradient", "scatter", [leaf([1.0, 2.0]), indices([1, 1]), leaf([10.0, 20.0])],
         attributes=ALONG, upstream=[3.0, 5.0], differs=LAST, ours={"gradients": [[3.0, 0.0], None, [0.0, 5.0]]})
    case("scatter/negative", "scatter", [tensor([1.0]), indices([-1]), tensor([1.0])], attributes=ALONG)
    case("scatter/scalars", "scatter", [tensor(5.0), indices(0), tensor(1.0)], attributes=ALONG, differs=SCALARS,
         ours=error("INVALID_ARGUMENT"))
    for label, number in (("infinite", "inf"), ("nan", "nan"), ("a fraction", 0.5)):
        case(f"scatter_scalar/{label}", "scatter_scalar", [leaf([1.0, 2.0, 3.0]), indices([2, 0])],
             attributes={"dim": 0, "number": number}, upstream=[1.0, 2.0, 3.0])
    case("scatter_scalar/i8", "scatter_scalar", [tensor([1, 2], "i8"), indices([1])],
         attributes={"dim": 0, "number": 7})
    case("scatter_scalar/bool", "scatter_scalar", [tensor([0, 0], "bool"), indices([1])],
         attributes={"dim": 0, "number": 1})
    case("scatter_scalar/empty index", "scatter_scalar", [leaf([1.0]), indices([])],
         attributes={"dim": 0, "number": 7.0})


def reductions():
    source = [0.0, 4.0, 3.0, 0.0, 0.0, 5.0]
    places = [0, 0, 1, 2, 2, 1]
    for reduction in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            settings = {"dim": 0, "reduction": reduction, "include_self": include_self}
            label = f"{reduction}{'' if include_self else ', without self'}"
            own = [2.0, 3.0, 0.0, 7.0] if reduction in ("sum", "prod", "mean") else [2.5, 3.5, 1.0, 7.0]
            case(f"scatter_reduce/{label}", "scatter_reduce", [leaf(own), indices(places), leaf(source)],
                 attributes=settings, upstream=[1.0, 2.0, 3.0, 4.0], tolerance=1e-6)
            case(f"scatter_reduce/{label}, NaN", "scatter_reduce",
                 [tensor([1.0, NAN, 3.0]), indices([0, 1, 2, 2]), tensor([NAN, 2.0, INF, -INF])], attributes=settings)
            case(f"scatter_reduce/{label}, i64", "scatter_reduce",
                 [tensor([5, -7], "i64"), indices([0, 0, 1]), tensor([2, -3, 4], "i64")], attributes=settings,
                 **({"differs": "scatter_reduce, mean of integers", "ours": error("DTYPE_MISMATCH")}
                    if reduction == "mean" else {}))
    case("scatter_reduce/ties share", "scatter_reduce", [leaf([5.0, 1.0]), indices([0, 0]), leaf([5.0, 5.0])],
         attributes={"dim": 0, "reduction": "amax", "include_self": True}, upstream=[3.0, 1.0])
    case("scatter_reduce/own tie left out", "scatter_reduce", [leaf([5.0, 1.0]), indices([0, 0]), leaf([5.0, 5.0])],
         attributes={"dim": 0, "reduction": "amax", "include_self": False}, upstream=[3.0, 1.0],
         differs="scatter_reduce without self, gradient of an own tie",
         ours={"gradients": [[0.0, 1.0], None, [1.5, 1.5]]})
    case("scatter_reduce/other dtypes", "scatter_reduce", [tensor([1.0]), indices([0]), tensor([1.0], "f64")],
         attributes={"dim": 0, "reduction": "sum", "include_self": True})


def lists():
    cube = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    case("index/two", "index", [leaf(cube), indices([1, 0, 1]), indices([0, 1, 0])],
         upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    case("index/one of two dimensions", "index", [leaf(TABLE), indices([[2, 0]])], upstream=[[[1.0, 2.0], [3.0, 4.0]]])
    case("index/broadcast", "index", [tensor(cube), indices([[0], [1]]), indices([1, 0]), indices(1)])
    case("index/empty", "index", [leaf(TABLE), indices([])], upstream=[])
    case("index/i32", "index", [tensor(TABLE), indices([2, 1], "i32")])
    case("index/too far", "index", [tensor(TABLE), indices([0]), indices([2])])
    case("index/do not broadcast", "index", [tensor(TABLE), indices([0, 1]), indices([0, 1, 0])])
    case("index/more than dimensions", "index", [tensor([1.0]), indices([0]), indices([0])])
    case("index/from the end", "index", [tensor(TABLE), indices([-1])], differs="index, index_put from the end",
         ours=error("INVALID_ARGUMENT"))
    case("index/float index", "index", [tensor(TABLE), tensor([0.0])])
    for accumulate in (False, True):
        settings = {"accumulate": accumulate}
        label = "added" if accumulate else "written"
        case(f"index_put/{label}", "index_put", [leaf(TABLE), indices([2, 0]), indices([1, 1]), leaf([10.0, NAN])],
             attributes=settings, upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        case(f"index_put/rows, {label}", "index_put", [leaf(TABLE), indices([2, 0]), leaf([10.0, 20.0])],
             attributes=settings, upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        case(f"index_put/one value, {label}", "index_put", [leaf(TABLE), indices([2, 0]), leaf(7.0)],
             attributes=settings, upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        case(f"index_put/empty, {label}", "index_put", [leaf(TABLE), indices([]), leaf([10.0, 20.0])],
             attributes=settings)
        case(f"index_put/repeats, {label}", "index_put", [tensor([1.0, 2.0]), indices([1, 1]), tensor([10.0, 20.0])],
             attributes=settings)
        case(f"index_put/values do not fit, {label}", "index_put",
             [tensor(TABLE), indices([0]), tensor([1.0, 2.0, 3.0])],
             attributes=settings)
        case(f"index_put/other dtypes, {label}", "index_put", [tensor(TABLE), indices([0]), tensor([1.0], "f64")],
             attributes=settings)
    case("index_put/repeats, gradient", "index_put", [leaf([1.0, 2.0]), indices([1, 1]), leaf([10.0, 20.0])],
         attributes={"accumulate": False}, upstream=[3.0, 5.0], differs=LAST,
         ours={"gradients": [[3.0, 0.0], None, [0.0, 5.0]]})
    case("index_put/repeats, added, gradient", "index_put", [leaf([1.0, 2.0]), indices([1, 1]), leaf([10.0, 20.0])],
         attributes={"accumulate": True}, upstream=[3.0, 5.0])


def masks():
    case("masked_select/some", "masked_select", [leaf(TABLE), tensor([[1, 0], [0, 0], [1, 1]], "bool")],
         upstream=[1.0, 2.0, 3.0])
    case("masked_select/broadcast", "masked_select", [leaf([1.0, NAN]), tensor([[1, 1], [0, 1]], "bool")],
         upstream=[1.0, 2.0, 3.0])
    case("masked_select/none", "masked_select", [leaf(TABLE), tensor([0, 0], "bool")], upstream=[])
    case("masked_select/scalars", "masked_select", [tensor(5.0), tensor(1, "bool")])
    case("masked_select/u8", "masked_select", [tensor([5, 6], "u8"), tensor([0, 1], "bool")])
    case("masked_select/do not broadcast", "masked_select", [tensor(TABLE), tensor([1, 0, 1], "bool")])


for part in (slices, elements, reductions, lists, masks):
    part()
