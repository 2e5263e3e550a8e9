"""Distances, similarities and their losses: vectors of 0, equal vectors, infinities, and norms below epsilon."""
import math

from case import INF, NAN, case, empty, error, leaf, only, tensor

REDUCTIONS = ("mean", "sum", "none")
ROWS = [[1.0, 2.0, -2.0], [0.0, 3.0, 4.0], [-1.0, 0.5, 0.25]]
OTHERS = [[1.0, 2.0, -2.0], [1.0, -1.0, 2.0], [2.0, 0.5, -4.0]]


def settings(reduction="mean", **others):
    return {"reduction": reduction, **others}


def directions():
    for p in (1.0, 2.0, 3.0, "inf"):
        for dim in (0, -1):
            case(f"normalize/p {p}, dim {dim}", "normalize", [leaf(ROWS)], attributes={"p": p, "dim": dim},
                 upstream=[[1.0, 2.0, 4.0], [1.0, -1.0, 0.5], [0.0, 1.0, 2.0]], tolerance=1e-6, absolute=1e-6)
    case("normalize/below epsilon", "normalize", [leaf([[0.0, 0.0], [1e-3, 0.0]])],
         attributes={"dim": 1, "epsilon": 0.5}, tolerance=1e-6)
    case("normalize/special", "normalize", [tensor([[NAN, 1.0], [INF, 1.0], [1e30, 1e30]])], attributes={"dim": 1},
         tolerance=1e-6, differs="norms of numbers beyond 1e19",
         ours={"outputs": [tensor([[NAN, NAN], [NAN, 0.0], [0.5**0.5, 0.5**0.5]])]})
    case("normalize/empty", "normalize", [empty(0, 3, grad=True)], attributes={"dim": 1}, upstream=[])
    case("normalize/integers", "normalize", [tensor([[1, 2]], "i32")], attributes={"dim": 1})
    case("cosine_similarity/rows", "cosine_similarity", [leaf(ROWS), leaf(OTHERS)], attributes={"dim": 1},
         upstream=[1.0, 2.0, -1.0], tolerance=1e-6, absolute=1e-6)
    case("cosine_similarity/columns that broadcast", "cosine_similarity", [leaf(ROWS), leaf([[1.0], [2.0], [4.0]])],
         attributes={"dim": 0}, tolerance=1e-6, absolute=1e-6)
    case("cosine_similarity/below epsilon", "cosine_similarity",
         [leaf([[1e-3, 0.0], [3.0, 4.0]]), leaf([[1.0, 1.0], [0.25, 0.0]])], attributes={"dim": 1, "epsilon": 0.5},
         tolerance=1e-6, absolute=1e-6)
    case("cosine_similarity/empty", "cosine_similarity", [empty(0, 3), empty(0, 3)], attributes={"dim": 1})


def distances():
    upstream = [1.0, 2.0, -1.0]
    for p in (1.0, 2.0, 3.0, "inf"):
        case(f"pairwise_distance/p {p}", "pairwise_distance", [leaf(ROWS[1:]), leaf(OTHERS[1:])],
             attributes={"p": p}, upstream=upstream[1:], tolerance=2e-6, absolute=1e-6)
    case("pairwise_distance/equal, kept", "pairwise_distance", [leaf(ROWS), leaf([1.0, 2.0, -2.0])],
         attributes={"keepdim": True, "epsilon": 0.0}, upstream=[[1.0], [2.0], [-1.0]], tolerance=1e-6, absolute=1e-6)
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, "inf"):
        case(f"cdist/p {p}", "cdist", [leaf(ROWS), leaf(OTHERS)], attributes={"p": p},
             upstream=[[1.0, 2.0, -1.0], [0.5, 1.0, 2.0], [-2.0, 1.0, 0.25]], tolerance=2e-6, absolute=1e-6)
    case("cdist/ties, p inf", "cdist", [leaf([[3.0, 3.0]]), leaf([[2.0, 2.0], [3.0, 4.0]])], attributes={"p": "inf"})
    case("cdist/batches that broadcast", "cdist", [leaf([ROWS, OTHERS]), leaf([ROWS[:2]])], attributes={"p": 2.0},
         tolerance=2e-6, absolute=1e-6)
    case("cdist/no rows", "cdist", [empty(0, 3, grad=True), leaf(ROWS)], attributes={"p": 2.0}, upstream=[])
    case("cdist/no length", "cdist", [empty(2, 0), empty(3, 0)], attributes={"p": 2.0})
    case("cdist/two lengths", "cdist", [tensor(ROWS), tensor([[1.0, 2.0]])], attributes={"p": 2.0})
    case("cdist/negative p", "cdist", [tensor(ROWS), tensor(OTHERS)], attributes={"p": -1.0})
    case("cdist/vectors", "cdist", [tensor([1.0]), tensor([1.0])], attributes={"p": 2.0})
    case("cdist/special", "cdist", [tensor([[NAN, 1.0], [INF, 1.0]]), tensor([[0.0, 0.0], [INF, 1.0]])],
         attributes={"p": 1.0})


def losses():
    for reduction in REDUCTIONS:
        none = only(reduction == "none", upstream=[])
        case(f"margin_ranking_loss/empty, {reduction}", "margin_ranking_loss",
             [empty(0, grad=True), empty(0), empty(0)], attributes=settings(reduction, margin=0.0), **none)
        upstream = only(reduction == "none", upstream=[1.0, 2.0, -1.0])
        case(f"cosine_embedding_loss/{reduction}", "cosine_embedding_loss",
             [leaf(ROWS), leaf(OTHERS), tensor([1, -1, -1], "i64")], attributes=settings(reduction, margin=-0.25),
             tolerance=1e-6, absolute=1e-6, **upstream)
        for swap in (False, True):
            case(f"triplet_margin_loss/{reduction}{', swapped' if swap else ''}", "triplet_margin_loss",
                 [leaf(ROWS), leaf(OTHERS), leaf([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [5.0, 5.0, 5.0]])],
                 attributes=settings(reduction, swap=swap), tolerance=2e-6, absolute=2e-6, **upstream)
    case("margin_ranking_loss/special", "margin_ranking_loss",
         [leaf([1.0, 2.0, NAN, INF, -INF, 3.0]), leaf([2.0, 1.0, 0.0, 1.0, -INF, 1.0]),
          tensor([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])], attributes=settings("none", margin=0.5))
    case("margin_ranking_loss/two shapes", "margin_ranking_loss",
         [tensor([[1.0], [2.0]]), tensor([[1.0, 2.0]]), tensor([[1.0, 1.0]])], attributes=settings(margin=0.0),
         differs="margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss of shapes that broadcast",
         ours=error("SHAPE_MISMATCH"))
    case("cosine_embedding_loss/one pair", "cosine_embedding_loss",
         [leaf([1.0, 0.0]), leaf([1.0, 1.0]), tensor(1, "i64")], attributes=settings(margin=0.0), tolerance=1e-6,
         absolute=1e-6)
    case("cosine_embedding_loss/targets of other numbers", "cosine_embedding_loss",
         [leaf(ROWS), leaf(OTHERS), tensor([0.0, 2.0, 0.5])], attributes=settings("none", margin=0.0))
    case("cosine_embedding_loss/vectors of 0", "cosine_embedding_loss",
         [leaf([[0.0, 0.0]]), leaf([[0.0, 0.0]]), tensor([1.0])], attributes=settings(margin=0.0))
    case("triplet_margin_loss/p 1, wide margin", "triplet_margin_loss", [leaf(ROWS), leaf(OTHERS), leaf(ROWS[::-1])],
         attributes=settings(margin=8.0, p=1.0), tolerance=2e-6, absolute=2e-6)
    case("triplet_margin_loss/one triplet", "triplet_margin_loss", [leaf([1.0, 2.0]), leaf([3.0, 0.0]), leaf([0.0, 0.0])],
         attributes=settings(), tolerance=2e-6, absolute=2e-6)


def alignments():
    logs = [[[math.log(p) for p in row] for row in time] for time in (
        ([0.5, 0.25, 0.25], [0.125, 0.5, 0.375]), ([0.25, 0.5, 0.25], [0.25, 0.25, 0.5]),
        ([0.5, 0.375, 0.125], [0.75, 0.125, 0.125]), ([0.25, 0.5, 0.25], [0.5, 0.25, 0.25]))]
    targets, times, lengths = tensor([[1, 1], [2, -1]], "i64"), tensor([4, 3], "i64"), tensor([2, 1], "i64")
    for reduction in REDUCTIONS:
        case(f"ctc_loss/{reduction}", "ctc_loss", [tensor(logs), targets, times, lengths],
             attributes=settings(reduction), tolerance=2e-6)

    def derivative(theirs):
        """Theirs is that of the logits: the probabilities of the times that count are subtracted."""
        counts = [t < (4, 3)[n] for t in range(4) for n in range(2) for c in range(3)]
        given = [x for time in logs for row in time for x in row]
        found = [g - math.exp(x) if is_counted else 0.0
                 for g, x, is_counted in zip(theirs["gradients"][0], given, counts)]
        return {"gradients": [found, None, None, None]}

    case("ctc_loss/gradient", "ctc_loss", [leaf(logs), targets, times, lengths], attributes=settings("sum"),
         tolerance=2e-6, absolute=1e-6, differs="ctc_loss, gradient of the log-probabilities", ours=derivative)
    case("ctc_loss/blank 2, one sequence", "ctc_loss",
         [tensor([time[0] for time in logs]), tensor([1, 0], "i64"), tensor(4, "i64"), tensor(2, "i64")],
         attributes=settings(blank=2), tolerance=2e-6)
    case("ctc_loss/empty target", "ctc_loss", [tensor(logs), targets, times, tensor([0, 1], "i64")],
         attributes=settings("none"), tolerance=2e-6)
    for zero_infinity in (False, True):
        case(f"ctc_loss/too long{', zero' if zero_infinity else ''}", "ctc_loss",
             [tensor(logs), targets, tensor([2, 3], "i64"), lengths],
             attributes=settings("none", zero_infinity=zero_infinity), tolerance=2e-6)
    case("ctc_loss/input longer than the times", "ctc_loss", [tensor(logs), targets, tensor([5, 3], "i64"), lengths],
         attributes=settings())
    case("ctc_loss/concatenated targets", "ctc_loss", [tensor(logs), tensor([1, 1, 2], "i64"), times, lengths],
         attributes=settings(), tolerance=2e-6, differs="ctc_loss of concatenated targets, or of lengths in a list",
         ours=error("SHAPE_MISMATCH"))


for part in (directions, distances, losses, alignments):
    part()
