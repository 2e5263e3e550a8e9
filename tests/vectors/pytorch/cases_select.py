"""Orders with ties, NaN and zeros of both signs; draws that are certain; places of elements that are not 0."""
from case import INF, NAN, case, empty, error, leaf, tensor

SPECIAL = [NAN, 1.0, -0.0, INF, 0.0, 1.0, -INF, NAN, -2.0]
ROWS = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]


def orders():
    for descending in (False, True):
        way = "descending" if descending else "ascending"
        along = {"descending": descending}
        case(f"sort/special, {way}", "sort", [leaf(SPECIAL)], attributes={"dim": 0, **along},
             upstream=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
        for dtype in ("f16", "bf16", "f64"):
            case(f"sort/special, {way}, {dtype}", "sort", [tensor(SPECIAL, dtype)], attributes={"dim": 0, **along})
        case(f"argsort/special, {way}", "argsort", [tensor(SPECIAL)], attributes={"dim": -1, **along})
        for dtype, values in (("i64", [3, -2**40, 3, 2**40]), ("i8", [127, -128, 0, -1]), ("u8", [0, 255, 1, 255]),
                              ("bool", [1, 0, 1, 0])):
            case(f"sort/{dtype}, {way}", "sort", [tensor(values, dtype)], attributes={"dim": 0, **along})
        for dim in (0, 1, -1):
            case(f"sort/dim {dim}, {way}", "sort", [leaf(ROWS)], attributes={"dim": dim, **along},
                 upstream=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for name in ("sort", "argsort"):
        settings = {"dim": 0, "descending": False}
        case(f"{name}/scalar", name, [tensor(5.0)], attributes=settings)
        case(f"{name}/empty", name, [empty(0, 3)], attributes=settings)
        case(f"{name}/empty along the dimension", name, [empty(3, 0)], attributes={**settings, "dim": 1})
        case(f"{name}/no such dimension", name, [tensor(ROWS)], attributes={**settings, "dim": 2})


def tops():
    for k in (0, 1, 2, 3, 4, -1):
        for largest in (False, True):
            case(f"topk/{k} {'largest' if largest else 'smallest'}", "topk", [leaf(ROWS)],
                 attributes={"k": k, "dim": 1, "largest": largest, "sorted": True})
    special = [NAN, 1.0, INF, 0.0, -INF]
    for largest in (False, True):
        case(f"topk/special, {'largest' if largest else 'smallest'}", "topk", [leaf(special)],
             attributes={"k": 3, "dim": 0, "largest": largest, "sorted": True}, upstream=[1.0, 2.0, 3.0])
    case("topk/first dimension", "topk", [leaf(ROWS)],
         attributes={"k": 1, "dim": -2, "largest": True, "sorted": True}, upstream=[[1.0, 2.0, 3.0]])
    case("topk/scalar", "topk", [tensor(5.0)], attributes={"k": 1, "dim": 0, "largest": True, "sorted": True})
    case("topk/two of a scalar", "topk", [tensor(5.0)], attributes={"k": 2, "dim": 0, "largest": True, "sorted": True})
    case("topk/empty", "topk", [empty(0, 3)], attributes={"k": 2, "dim": 1, "largest": True, "sorted": True})


def draws():
    def settings(num_samples, replacement):
        return {"num_samples": num_samples, "replacement": replacement}

    case("multinomial/certain", "multinomial", [tensor([[0.0, 7.0, 0.0], [0.0, 0.0, 0.5]])],
         attributes=settings(4, True))
    case("multinomial/certain, without replacement", "multinomial", [tensor([0.0, 7.0])], attributes=settings(1, False))
    case("multinomial/no rows", "multinomial", [empty(0, 3)], attributes=settings(2, True))
    case("multinomial/no categories", "multinomial", [empty(2, 0)], attributes=settings(1, True))
    case("multinomial/no draws", "multinomial", [tensor([1.0, 1.0])], attributes=settings(0, True))
    case("multinomial/more draws than categories", "multinomial", [tensor([1.0, 1.0])], attributes=settings(3, False))
    case("multinomial/integers", "multinomial", [tensor([1, 1], "i64")], attributes=settings(1, True))
    case("multinomial/three dimensions", "multinomial", [tensor([[[1.0]]])], attributes=settings(1, True))
    case("multinomial/a scalar", "multinomial", [tensor(1.0)], attributes=settings(1, True))
    for label, value in (("negative", -1.0), ("infinite", INF), ("NaN", NAN)):
        case(f"multinomial/{label}", "multinomial", [tensor([1.0, value])], attributes=settings(1, True))
    case("multinomial/zeros", "multinomial", [tensor([0.0, 0.0])], attributes=settings(1, True))
    case("multinomial/too few above 0", "multinomial", [tensor([0.0, 1.0])], attributes=settings(2, False),
         differs="multinomial without replacement of too few probabilities above 0", ours=error("INVALID_ARGUMENT"))


def places():
    case("nonzero/special", "nonzero", [tensor([[0.0, NAN, -0.0], [INF, 1e-45, 0.0]])])
    case("nonzero/scalar", "nonzero", [tensor(3.0)])
    case("nonzero/scalar of 0", "nonzero", [tensor(0.0)])
    case("nonzero/none", "nonzero", [tensor([[0, 0]], "i32")])
    case("nonzero/empty", "nonzero", [empty(2, 0, 3)])
    case("nonzero/bool", "nonzero", [tensor([1, 0, 1], "bool")])
    case("nonzero/f16", "nonzero", [tensor([6e-8, 0.0], "f16")])


for part in (orders, tops, draws, places):
    part()
