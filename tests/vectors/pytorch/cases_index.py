"""Repeated, out-of-range and missing indices; gradients that accumulate; padding rows; dropout with p of 0 and 1."""
from case import INF, NAN, case, empty, error, leaf, tensor

SCALARS = "gather, scatter_add, index_select of scalars"
TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def indices(values, dtype="i64", shape=None):
    return tensor(values, dtype, shape)


def gathers():
    case("gather/repeats", "gather", [leaf(TABLE), indices([[0, 0], [0, 2], [2, 2], [0, 1]])], attributes={"dim": 0})
    case("gather/smaller than the input", "gather", [leaf(TABLE), indices([[1], [0]])], attributes={"dim": 1})
    case("gather/larger than the input elsewhere", "gather", [tensor(TABLE), indices([[0], [0], [0], [0]])],
         attributes={"dim": 1})
    case("gather/empty index", "gather", [leaf(TABLE), indices([], shape=[0, 2])], attributes={"dim": 0}, upstream=[])
    case("gather/empty input", "gather", [empty(0, 2), indices([[0, 0]])], attributes={"dim": 0})
    case("gather/too far", "gather", [tensor(TABLE), indices([[3, 0]])], attributes={"dim": 0})
    case("gather/negative", "gather", [tensor(TABLE), indices([[-1, 0]])], attributes={"dim": 0})
    case("gather/index of another rank", "gather", [tensor(TABLE), indices([0])], attributes={"dim": 0})
    case("gather/float index", "gather", [tensor(TABLE), tensor([[0.0, 1.0]])], attributes={"dim": 0})
    case("gather/i32", "gather", [tensor(TABLE), indices([[2, 0]], "i32")], attributes={"dim": 0})
    case("gather/scalars", "gather", [tensor(5.0), indices(0)], attributes={"dim": 0},
         differs=SCALARS, ours=error("INVALID_ARGUMENT"))
    case("gather/nan", "gather", [leaf([NAN, INF]), indices([0, 1, 0])],
         attributes={"dim": 0}, upstream=[1.0, NAN, INF])


def scatters():
    case("scatter_add/repeats", "scatter_add", [leaf([1.0, 2.0, 3.0]), indices([0, 0, 2, 0]),
                                                leaf([10.0, 20.0, 30.0, 40.0])], attributes={"dim": 0},
         upstream=[1.0, 2.0, 3.0])
    case("scatter_add/source is larger", "scatter_add", [tensor([1.0, 2.0]), indices([1]), tensor([10.0, NAN])],
         attributes={"dim": 0})
    case("scatter_add/source is larger, gradient", "scatter_add", [leaf([1.0, 2.0]), indices([1]), leaf([10.0, NAN])],
         attributes={"dim": 0}, upstream=[1.0, 2.0], differs="scatter_add of a source larger than the index, gradient",
         ours={"gradients": [[1.0, 2.0], None, [2.0, 0.0]]})
    case("scatter_add/source is smaller", "scatter_add", [tensor([1.0, 2.0]), indices([1, 0]), tensor([10.0])],
         attributes={"dim": 0})
    case("scatter_add/empty index", "scatter_add", [leaf([1.0]),
         indices([]), empty(0, grad=True)], attributes={"dim": 0})
    case("scatter_add/i8 wraps", "scatter_add", [tensor([127], "i8"), indices([0, 0]), tensor([1, 127], "i8")],
         attributes={"dim": 0})
    case("scatter_add/bool", "scatter_add", [tensor([0, 0], "bool"), indices([0, 0]), tensor([1, 1], "bool")],
         attributes={"dim": 0})
    case("scatter_add/other dtypes", "scatter_add", [tensor([1.0]), indices([0]), tensor([1.0], "f64")],
         attributes={"dim": 0})
    case("scatter_add/too far", "scatter_add", [tensor([1.0]), indices([1]), tensor([1.0])], attributes={"dim": 0})
    case("scatter_add/negative", "scatter_add", [tensor([1.0]), indices([-1]), tensor([1.0])], attributes={"dim": 0})
    case("scatter_add/infinities", "scatter_add", [tensor([0.0, 0.0]), indices([0, 0, 1]), tensor([INF, -INF, INF])],
         attributes={"dim": 0})
    case("scatter_add/bf16 of many", "scatter_add", [tensor([256.0], "bf16"), indices([0] * 8),
                                                     tensor([1.0] * 8, "bf16")], attributes={"dim": 0})
    case("embedding/bf16 gradients of many", "embedding", [leaf([[0.0]], "bf16"), indices([0] * 9)], upstream=[
         [256.0]] + [[1.0]] * 8, differs="embedding, gradient of 16 bits", ours={"gradients": [[264.0], None]})
    case("scatter_add/scalars", "scatter_add", [tensor(5.0), indices(0), tensor(1.0)], attributes={"dim": 0},
         differs=SCALARS, ours=error("INVALID_ARGUMENT"))


def selections():
    case("index_select/repeats", "index_select", [leaf(TABLE), indices([2, 0, 2, 2])], attributes={"dim": 0},
         upstream=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    case("index_select/empty", "index_select", [leaf(TABLE), indices([])], attributes={"dim": -1}, upstream=[])
    case("index_select/too far", "index_select", [tensor(TABLE), indices([3])], attributes={"dim": 0})
    case("index_select/negative", "index_select", [tensor(TABLE), indices([-1])], attributes={"dim": 0})
    case("index_select/i32", "index_select", [tensor(TABLE), indices([1], "i32")], attributes={"dim": 0})
    case("index_select/two dimensions of indices", "index_select", [tensor(TABLE), indices([[0, 1]])],
         attributes={"dim": 0})
    case("index_select/a scalar index", "index_select", [tensor(TABLE), indices(1)], attributes={"dim": 0},
         differs="index_select by a scalar", ours=error("SHAPE_MISMATCH"))
    case("index_select/of a scalar", "index_select", [tensor(5.0), indices([0])], attributes={"dim": 0},
         differs=SCALARS, ours=error("INVALID_ARGUMENT"))
    case("index_select/of nothing", "index_select", [empty(0, 2), indices([0])], attributes={"dim": 0})
    case("index_select/other dimension empty", "index_select", [empty(3, 0), indices([0, 0])], attributes={"dim": 0})
    case("index_select/bool", "index_select", [tensor([1, 0], "bool"), indices([1, 0, 0])], attributes={"dim": 0})


def embeddings():
    rows = indices([[2, 0], [2, 1]])
    upstream = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    case("embedding/repeats", "embedding", [leaf(TABLE), rows], upstream=upstream)
    case("embedding/padding row", "embedding", [leaf(TABLE), rows], attributes={"padding_index": 2}, upstream=upstream)
    case("embedding/padding row with an infinite gradient", "embedding", [leaf(TABLE), indices([1, 1])],
         attributes={"padding_index": 1}, upstream=[[NAN, INF], [INF, 1.0]])
    case("embedding/padding row beyond the table", "embedding", [tensor(TABLE), rows], attributes={"padding_index": 3})
    case("embedding/padding row from the end", "embedding", [leaf(TABLE), rows], attributes={"padding_index": -2},
         differs="embedding with a negative padding_index", ours=error("INVALID_ARGUMENT"))
    case("embedding/no index", "embedding", [leaf(TABLE), indices([], shape=[2, 0])], upstream=[])
    case("embedding/scalar index", "embedding", [leaf(TABLE), indices(1)], upstream=[3.0, 4.0])
    case("embedding/i32", "embedding", [tensor(TABLE), indices([1], "i32")])
    case("embedding/too far", "embedding", [tensor(TABLE), indices([3])])
    case("embedding/negative", "embedding", [tensor(TABLE), indices([-1])])


def dropouts():
    special = [NAN, -INF, -2.0, -0.0, 0.0, 2.0, INF]
    for label, p, training in (("all", 1.0, True), ("none", 0.0, True), ("not in training", 0.9, False),
                               ("all, not in training", 1.0, False)):
        case(f"dropout/{label}", "dropout", [leaf(special)], attributes={"p": p, "training": training})
    case("dropout/beyond 1", "dropout", [tensor([1.0])], attributes={"p": 1.5, "training": True})
    case("dropout/empty", "dropout", [empty(0, grad=True)], attributes={"p": 0.5, "training": True}, upstream=[])


for part in (gathers, scatters, selections, embeddings, dropouts):
    part()
