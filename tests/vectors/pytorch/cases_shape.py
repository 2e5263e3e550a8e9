"""Shapes at their limits, padding, joining, einsum, arange and matrix products with an inner size of 0."""
import math

from case import INF, NAN, case, empty, error, leaf, only, tensor

SIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def views():
    for label, given, shape in (("to a scalar", tensor([7.0]), []), ("-1", tensor(SIX), [3, -1]),
                                ("two -1", tensor(SIX), [-1, -1]), ("-1 beside 0", empty(0, 3), [0, -1]),
                                ("-1 of nothing", empty(0, 3), [-1, 3]), ("wrong size", tensor(SIX), [4, 2]),
                                ("-1 that does not divide", tensor(SIX), [4, -1]), ("below -1", tensor(SIX), [-2, 3]),
                                ("scalar to three ones", tensor(1.0), [1, 1, 1])):
        case(f"reshape/{label}", "reshape", [given], attributes={"shape": shape})
    for dim0, dim1 in ((0, 0), (-1, 0), (0, -1), (0, 1)):
        case(f"transpose/scalar, {dim0} and {dim1}", "transpose",
             [tensor(1.0)], attributes={"dim0": dim0, "dim1": dim1})
    case("permute/a dimension twice", "permute", [tensor(SIX)], attributes={"dims": [0, 0]})
    case("permute/too few", "permute", [tensor(SIX)], attributes={"dims": [0]})
    case("permute/scalar", "permute", [tensor(1.0)], attributes={"dims": []})
    for dim in (-3, -1, 2, 3):
        case(f"unsqueeze/{dim}", "unsqueeze", [tensor(SIX)], attributes={"dim": dim})
    case("squeeze/another size stays", "squeeze", [tensor([[[1.0, 2.0]]])], attributes={"dims": [0, 2]})
    case("squeeze/all", "squeeze", [tensor([[[1.0], [2.0]]])], attributes={"dims": []})
    case("squeeze/scalar", "squeeze", [tensor(1.0)], attributes={"dims": [0]})
    case("squeeze/empty", "squeeze", [empty(1, 0)], attributes={"dims": [0, 1]})
    column = leaf([[1.0], [2.0]])
    for label, given, shape in (("-1 keeps", column, [3, -1, 2]), ("1 to 0", column, [2, 0]),
                                ("new dimension of -1", tensor([1.0]), [-1, 1]), ("0 to 2", empty(0), [2]),
                                ("0 stays", empty(0), [3, 0]), ("scalar", leaf(1.0), [2]),
                                ("fewer dimensions", tensor([[1.0]]), [1])):
        case(f"broadcast_to/{label}", "broadcast_to", [given], attributes={"shape": shape},
             **only(label == "1 to 0", upstream=[]))


def slices():
    line = tensor([0.0, 1.0, 2.0, 3.0, 4.0])
    for start, end, step in ((-2, 9, 1), (-9, 2, 1), (3, 2, 1), (9, 12, 1),
                             (0, -1, 2), (1, 5, 3), (-1, -4, 1), (0, 5, 9)):
        case(f"slice/{start} to {end} by {step}", "slice", [line],
             attributes={"dim": 0, "start": start, "end": end, "step": step})
    case("slice/step 0", "slice", [line], attributes={"dim": 0, "start": 0, "end": 5, "step": 0})
    case("slice/step -1", "slice", [line], attributes={"dim": 0, "start": 4, "end": 0, "step": -1})
    case("slice/scalar", "slice", [tensor(1.0)], attributes={"dim": 0, "start": 0, "end": 1, "step": 1})
    case("slice/gradient", "slice", [leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])],
         attributes={"dim": -1, "start": 0, "end": 3, "step": 2}, upstream=[[1.0, 2.0], [3.0, 4.0]])


def joins():
    case("cat/dtypes", "cat", [tensor([1, 2], "u8"), tensor([-1], "i8")], attributes={"dim": 0})
    case("cat/f16 and bf16", "cat", [tensor([1.0], "f16"), tensor([1e38], "bf16")], attributes={"dim": 0})
    case("cat/empty of one dimension", "cat", [tensor([[1.0, 2.0]]), empty(0)], attributes={"dim": 0}, differs="cat",
         ours=error("SHAPE_MISMATCH"))
    case("cat/empty that fits", "cat", [leaf([[1.0, 2.0]]), empty(0, 2, grad=True)], attributes={"dim": 0})
    case("cat/scalars", "cat", [tensor(1.0), tensor(2.0)], attributes={"dim": 0})
    case("cat/other sizes", "cat", [tensor([[1.0, 2.0]]), tensor([[1.0]])], attributes={"dim": 0})
    case("cat/the same twice", "cat", [empty(0, grad=True), empty(0)], attributes={"dim": 0}, upstream=[])
    case("stack/scalars", "stack", [leaf(1.0), leaf(2.0)], attributes={"dim": -1}, upstream=[3.0, 4.0])
    case("stack/dtypes", "stack", [tensor([1, 0], "bool"), tensor([3, 4], "i64")], attributes={"dim": 1})
    case("stack/empties", "stack", [empty(0), empty(0)], attributes={"dim": 1})
    case("stack/other sizes", "stack", [tensor([1.0]), tensor([1.0, 2.0])], attributes={"dim": 0})
    for label, sizes in (("with empty parts", [0, 2, 0, 1]), ("too much", [2, 2]), ("too little", [1, 1]),
                         ("negative", [4, -1])):
        case(f"split/{label}", "split", [tensor([1.0, 2.0, 3.0])], attributes={"dim": 0, "sizes": sizes})


def paddings():
    for label, padding, value in (("both", [1, 2], 9.0), ("takes away", [-1, 0, 0, -1], 0.0), ("mixed", [-1, 2], NAN),
                                  ("infinite", [0, 1], "-inf"), ("none", [], 0.0), ("takes all away", [-1, -2], 0.0),
                                  ("takes more than there is", [-2, -2], 0.0)):
        value = "nan" if value != value else value
        case(f"pad/{label}", "pad", [leaf(SIX)], attributes={"padding": padding, "value": value},
             **only(label == "takes all away", upstream=[]))
    row = "pad that removes more than there is"
    case("pad/takes more than there is, and adds", "pad", [tensor([1.0, 2.0, 3.0])],
         attributes={"padding": [-5, 6], "value": 9.0}, differs=row, ours={"outputs": [tensor([9.0] * 4)]})
    case("pad/adds, and takes more than there is", "pad", [tensor([1.0, 2.0, 3.0])],
         attributes={"padding": [4, -6], "value": 9.0}, differs=row, ours={"outputs": [tensor([9.0])]})
    case("pad/odd count", "pad", [tensor(SIX)], attributes={"padding": [1, 1, 1, 1, 1, 1], "value": 0.0})
    case("pad/empty grows", "pad", [empty(0)], attributes={"padding": [1, 1], "value": 5.0})
    case("pad/bool", "pad", [tensor([1], "bool")], attributes={"padding": [1, 1], "value": 0})
    case("pad/i8", "pad", [tensor([1], "i8")], attributes={"padding": [0, 1], "value": -128})
    case("flip/twice", "flip", [leaf(SIX)], attributes={"dims": [0, -1]}, upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    case("flip/empty", "flip", [empty(0, 2)], attributes={"dims": [0]})
    case("flip/scalar", "flip", [tensor(1.0)], attributes={"dims": []})
    case("flip/a dimension twice", "flip", [tensor(SIX)], attributes={"dims": [0, -2]})
    for name in ("tril", "triu"):
        for diagonal in (-3, -1, 0, 2, 5):
            case(f"{name}/{diagonal}", name, [tensor([[NAN, 2.0, INF], [4.0, -INF, 6.0]])],
                 attributes={"diagonal": diagonal})
        case(f"{name}/gradient", name, [leaf([[NAN, 2.0], [INF, 4.0]])], attributes={"diagonal": 0},
             upstream=[[NAN, INF], [NAN, INF]])
        case(f"{name}/one dimension", name, [tensor([1.0])], attributes={"diagonal": 0})
        case(f"{name}/empty", name, [empty(2, 0, 3)], attributes={"diagonal": 1})


def ranges():
    for dtype, start, end, step in (("f32", 0, 1, 0.1), ("f32", 1, 0, -0.25), ("f32", 2, 2, 1), ("f32", 0, 1, -1),
                                    ("f32", 0, 1, 0), ("f64", 0, 0.3, 0.1), ("i64", -3, 4, 3), ("i32", 5, 0, -2),
                                    ("u8", 0, 3, 1), ("bf16", 256, 262, 1), ("f32", 0, 1.0000001, 0.5)):
        case(f"arange/{dtype} {start} to {end} by {step}", "arange",
             attributes={"dtype": dtype, "start": start, "end": end, "step": step}, tolerance=1e-7)
    row = "arange of integers"
    case("arange/fraction of an integer", "arange", attributes={"dtype": "i64", "start": 0.5, "end": 3, "step": 1},
         differs=row, ours=error("INVALID_ARGUMENT"))
    case("arange/beyond u8", "arange", attributes={"dtype": "u8", "start": 254, "end": 258, "step": 1}, differs=row,
         ours=error("INVALID_ARGUMENT"))


def products():
    case("matmul/no depth", "matmul", [empty(2, 0, grad=True), empty(0, 3, grad=True)], upstream=[[1.0] * 3] * 2)
    case("matmul/no rows", "matmul", [empty(0, 2), tensor([[1.0], [2.0]])])
    case("matmul/0 times an infinity", "matmul", [tensor([[0.0, 1.0], [1.0, 1.0]]), tensor([[INF, 1.0], [NAN, INF]])])
    case("matmul/batches broadcast", "matmul", [leaf([[[1.0, 2.0]], [[3.0, 4.0]]]), leaf([[5.0], [6.0]])])
    case("matmul/empty batch", "matmul", [empty(0, 1, 2), tensor([[1.0], [2.0]])])
    case("matmul/other depth", "matmul", [tensor([[1.0, 2.0]]), tensor([[1.0, 2.0]])])
    case("matmul/f32 and f64", "matmul", [tensor([[1.0]]), tensor([[1.0]], "f64")])
    case("matmul/f16 beyond it", "matmul", [tensor([[65504.0, 65504.0, 65504.0]], "f16"),
                                            tensor([[1.0], [1.0], [-1.0]], "f16")])
    case("matmul/integers", "matmul", [tensor([[2, 3]], "i32"), tensor([[4], [5]], "i32")],
         differs="matmul, linear, einsum, convolutions of integers", ours=error("DTYPE_MISMATCH"))
    case("matmul/vectors", "matmul", [leaf([1.0, 2.0]), leaf([3.0, 4.0])])
    case("matmul/a vector and a matrix", "matmul", [leaf([1.0, 2.0]), leaf([[3.0], [4.0]])])
    case("matmul/scalar", "matmul", [tensor(1.0), tensor([[3.0], [4.0]])])
    case("linear/no features", "linear", [empty(2, 0, grad=True), empty(3, 0, grad=True), leaf([1.0, 2.0, 3.0])])
    case("linear/one dimension", "linear", [leaf([1.0, 2.0]), leaf([[3.0, 4.0]]), None])
    case("linear/no rows", "linear", [empty(0, 2, grad=True), leaf([[3.0, 4.0]]), leaf([1.0])], upstream=[])
    case("linear/a weight of one dimension", "linear", [leaf([[1.0, 2.0]]), leaf([3.0, 4.0]), None])
    case("linear/bias of one element", "linear", [tensor([[1.0]]), tensor([[2.0], [3.0]]), tensor([5.0])],
         differs="linear, a bias that broadcasts", ours=error("SHAPE_MISMATCH"))


def numbered(*shape):
    """1, 2, 3, ... in row-major order."""
    return leaf([float(i + 1) for i in range(math.prod(shape))], shape=shape)


def einsums():
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[5.0, 6.0], [7.0, 8.0]])
    for equation in ("ij,jk->ik", "ij,jk", "ij,ij->", "ij,kl->jl", "ji,jk->ki", "i j , j k -> k i", "...j,jk->...k",
                     "...,...->...", "ij,j->i", "ij,jk->ikl", "ij,jk->iik", "ijk,jk->i", "ij,jk,kl->il"):
        case(f"einsum/{equation}", "einsum", [a, b], attributes={"equation": equation})
    for equation in ("ij->ji", "ij->", "ba", "...->...", "ij->j"):
        case(f"einsum/{equation}", "einsum", [a], attributes={"equation": equation})
    case("einsum/sizes of 1 repeat", "einsum", [leaf([[1.0], [2.0]]), leaf([[3.0, 4.0]])],
         attributes={"equation": "ij,ij->ij"})
    case("einsum/empty", "einsum", [empty(2, 0), empty(0, 3)], attributes={"equation": "ij,jk->ik"})
    for equation in ("ii->i", "ii->", "ii", "iii->i", "iij->ji", "...ii->...i"):
        operand = equation.split("->")[0]
        rank = operand.count("i") + operand.count("j") + 2 * operand.count("...")
        case(f"einsum/a diagonal, {equation}", "einsum", [numbered(*[2] * rank)], attributes={"equation": equation})
    case("einsum/two diagonals", "einsum", [numbered(2, 2), numbered(2, 3, 2)],
         attributes={"equation": "ii,iji->ij"})
    case("einsum/a diagonal of two sizes", "einsum", [numbered(2, 3)], attributes={"equation": "ii->i"})
    case("einsum/a diagonal of a size of 1", "einsum", [numbered(1, 2)], attributes={"equation": "ii->i"})
    case("einsum/three operands", "einsum", [a, b, b], attributes={"equation": "ij,jk,kl->il"},
         differs="einsum", ours=error("INVALID_ARGUMENT"))


for part in (views, slices, joins, paddings, ranges, products, einsums):
    part()
