"""Losses of empty tensors, with every row ignored, at logits that overflow and at targets of probability 0."""
from case import INF, NAN, case, empty, error, leaf, only, run, tensor

REDUCTIONS = ("mean", "sum", "none")
FAR = [-1e38, -200.0, -90.0, -20.0, -0.0, 0.0, 20.0, 90.0, 200.0, 1e38]


def settings(reduction="mean", **others):
    return {"reduction": reduction, **others}


def distances():
    given, target = [1.0, 2.0, NAN, INF, -INF, 1e30], [1.0, -1.0, 0.0, 1.0, -INF, -1e30]
    for name, others in (("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": 1.0}), ("huber_loss", {"delta": 1.0})):
        for reduction in REDUCTIONS:
            case(f"{name}/empty, {reduction}", name, [empty(0, grad=True), empty(0)],
                 attributes=settings(reduction, **others), **(only(reduction == "none", upstream=[])))
        theirs = [leaf(given), leaf(target)]
        if name == "l1_loss":
            case("l1_loss/special", name, theirs, attributes=settings("none"), tolerance=1e-6,
                 differs="l1_loss at NaN, gradient", ours={"gradients": [[0.0, 1.0, NAN, 1.0, NAN, 1.0],
                                                                        [0.0, -1.0, NAN, -1.0, NAN, -1.0]]})
        else:
            case(f"{name}/special", name, theirs, attributes=settings("none", **others), tolerance=1e-6)
        case(f"{name}/dtypes", name, [leaf([1.0, 2.0], "bf16"), tensor([0.5, 2.0])], attributes=settings(**others),
             **only(name == "huber_loss", differs="huber_loss of two dtypes",
                    ours={"outputs": [tensor(0.0625)], "gradients": [[0.25, 0.0], None]}))
        case(f"{name}/two shapes", name, [tensor([[1.0], [2.0]]), tensor([1.0, 2.0])], attributes=settings(**others),
             differs="mse_loss, l1_loss, smooth_l1_loss, huber_loss of two shapes", ours=error("SHAPE_MISMATCH"))
    case("mse_loss/f16 beyond it", "mse_loss", [tensor([300.0, 0.0], "f16"), tensor([0.0, 0.0], "f16")],
         attributes=settings(), differs="losses of 16 bits, reduced", ours={"outputs": [tensor(45000.0)]})
    for delta in (0.5, 2.0):
        case(f"huber_loss/delta {delta}", "huber_loss",
             [leaf([0.0, 0.5, -0.5, 2.0, -2.0, 3.0]), leaf([0.0] * 6)], attributes=settings("none", delta=delta))
    case("huber_loss/delta 0", "huber_loss", [tensor([1.0]), tensor([0.0])], attributes=settings(delta=0.0))
    for beta in (0.0, 0.5, 2.0):
        case(f"smooth_l1_loss/beta {beta}", "smooth_l1_loss",
             [leaf([0.0, 0.5, -0.5, 2.0, -2.0, 3.0]), leaf([0.0] * 6)], attributes=settings("none", beta=beta))
    case("smooth_l1_loss/beta below 0", "smooth_l1_loss", [tensor([1.0]), tensor([0.0])],
         attributes=settings(beta=-1.0))


def divergences():
    log_p, p = [-1.0, -INF, -INF, 0.0, NAN, -2.0, INF], [0.0, 0.0, 0.5, 1.0, 0.0, -0.5, 0.5]
    for reduction in REDUCTIONS + ("batch_mean",):
        none = only(reduction == "none", upstream=[])
        case(f"kl_div/empty, {reduction}", "kl_div", [empty(0, grad=True), empty(0)],
             attributes=settings(reduction, log_target=False), **none)
    case("kl_div/special", "kl_div", [leaf(log_p), tensor(p)], attributes=settings("none", log_target=False),
         tolerance=1e-6)
    row = "kl_div at a target of 0 or infinity, gradient of the target"
    case("kl_div/target of 0, gradient", "kl_div", [tensor([-1.0]), leaf([0.0])],
         attributes=settings("none", log_target=False), differs=row,
         ours={"gradients": [None, [-INF]]})
    case("kl_div/infinite target, gradient", "kl_div", [tensor([1.0]), leaf([INF])],
         attributes=settings("none", log_target=False), differs=row,
         ours={"gradients": [None, [INF]]})
    case("kl_div/special, log target", "kl_div", [leaf([-1.0, -INF, -INF, 0.0, NAN]),
                                                    leaf([-INF, -INF, -1.0, 0.0, -INF])],
         attributes=settings("none", log_target=True), tolerance=1e-6)
    case("kl_div/batch mean", "kl_div", [leaf([[-1.0, -2.0], [-1.0, -0.5]]), tensor([[0.5, 0.5], [0.0, 1.0]])],
         attributes=settings("batch_mean", log_target=False), tolerance=1e-6)
    case("kl_div/batch mean of a scalar", "kl_div", [tensor(-1.0), tensor(0.5)],
         attributes=settings("batch_mean", log_target=False), tolerance=1e-6, differs="kl_div of scalars, batch mean",
         ours=error("SHAPE_MISMATCH"))


def probabilities_of_two():
    row = "bce_loss of numbers outside [0, 1]"
    for reduction in REDUCTIONS:
        case(f"bce_loss/empty, {reduction}", "bce_loss", [empty(0, grad=True), empty(0), None],
             attributes=settings(reduction), **only(reduction == "none", upstream=[]))
    case("bce_loss/special", "bce_loss", [leaf([0.0, 1.0, 0.5, 1e-8, 0.0, 1.0, 0.25]),
                                          tensor([0.0, 1.0, 0.25, 0.5, 1.0, 0.5, 0.75]), None],
         attributes=settings("none"), tolerance=1e-6, absolute=1e-37)
    case("bce_loss/gradient of the target", "bce_loss", [tensor([0.5, 0.25]), leaf([0.25, 1.0]), None],
         attributes=settings("none"), tolerance=1e-6, absolute=1e-7)
    case("bce_loss/gradient of the target, probabilities 0 and 1", "bce_loss",
         [tensor([0.0, 1.0]), leaf([0.0, 0.5]), None], attributes=settings("none"), absolute=1e-37,
         differs="bce_loss at probabilities of 0 and 1, gradient of the target",
         ours={"gradients": [None, [100.0, -100.0], None]})
    for reduction in REDUCTIONS:
        upstream = only(reduction == "none", upstream=[[1.0, -2.0], [0.5, 3.0]])
        case(f"bce_loss/weighted, {reduction}", "bce_loss",
             [leaf([[0.25, 0.5], [0.75, 0.125]]), tensor([[1.0, 0.0], [0.5, 0.25]]), tensor([2.0, 0.5])],
             attributes=settings(reduction), tolerance=1e-6, absolute=1e-7, **upstream)
    case("bce_loss/gradient of the weight", "bce_loss", [tensor([0.5, 0.5]), tensor([1.0, 0.0]), leaf([2.0, 1.0])],
         attributes=settings("sum"), tolerance=1e-6, differs="bce_loss, gradient of the weight",
         ours={"outputs": [tensor(2.0794415)], "gradients": [None, None, [0.6931472, 0.6931472]]})
    case("bce_loss/beyond 1", "bce_loss", [tensor([1.5, NAN]), tensor([0.25, 0.5]), None], attributes=settings("none"),
         differs=row, ours={"outputs": [tensor([NAN, NAN])]})
    case("bce_loss/two shapes", "bce_loss", [tensor([[0.5], [0.5]]), tensor([1.0, 0.0]), None], attributes=settings())


def gaussians():
    mean, target = [[1.0, 2.0], [0.5, -1.0]], [[1.5, 2.0], [0.0, 3.0]]
    for reduction in REDUCTIONS:
        upstream = only(reduction == "none", upstream=[[1.0, -2.0], [0.5, 3.0]])
        for label, variance in (("elements", [[1.0, 0.5], [2.0, 0.25]]), ("rows", [[1.0], [0.5]]), ("a vector", [1.0, 0.5])):
            case(f"gaussian_nll_loss/{label}, {reduction}", "gaussian_nll_loss",
                 [leaf(mean), leaf(target), leaf(variance)], attributes=settings(reduction, full=label == "rows"),
                 tolerance=1e-6, absolute=1e-6, **upstream)
    case("gaussian_nll_loss/below epsilon", "gaussian_nll_loss", [leaf([0.0]), tensor([0.5]), leaf([0.0])],
         attributes=settings(epsilon=0.25), tolerance=1e-6)
    case("gaussian_nll_loss/negative variance", "gaussian_nll_loss", [tensor([0.0]), tensor([0.5]), tensor([-1.0])],
         attributes=settings("none"), differs="gaussian_nll_loss of a negative variance",
         ours={"outputs": [tensor([NAN])]})
    case("gaussian_nll_loss/epsilon 0", "gaussian_nll_loss", [tensor([0.0]), tensor([0.5]), tensor([1.0])],
         attributes=settings(epsilon=0.0))
    case("gaussian_nll_loss/another shape", "gaussian_nll_loss", [tensor(mean), tensor(target), tensor([1.0, 1.0, 1.0])],
         attributes=settings())


def binaries():
    for target in (0.0, 1.0, 0.25):
        case(f"bce_with_logits/far, target {target}", "bce_with_logits", [leaf(FAR), leaf([target] * 10), None],
             attributes=settings("none"), tolerance=1e-6, absolute=2e-6)
    case("bce_with_logits/infinite", "bce_with_logits",
         [leaf([INF, -INF, INF, NAN]), tensor([1.0, 0.0, 0.0, 1.0]), None], attributes=settings("none"))
    for target, limit in ((1.0, INF), (0.5, INF), (-1.0, -INF)):
        case(f"bce_with_logits/-infinity, target {target}", "bce_with_logits", [tensor([-INF]), tensor([target]), None],
             attributes=settings("none"), differs="bce_with_logits of -infinity where the target is not 0",
             ours={"outputs": [tensor([limit])]})
    case("bce_with_logits/-infinity, targets 0 and 2", "bce_with_logits",
         [leaf([-INF, -INF]), tensor([0.0, 2.0]), None], attributes=settings("none"))
    case("bce_with_logits/positive weight", "bce_with_logits", [leaf([[0.0, 90.0], [-90.0, 1.0]]),
                                                                tensor([[1.0, 0.0], [1.0, 0.0]]), tensor([0.0, 3.0])],
         attributes=settings("none"), tolerance=1e-6, absolute=1e-37)
    case("bce_with_logits/gradient of the positive weight", "bce_with_logits",
         [leaf([0.0]), tensor([1.0]), leaf([2.0])], attributes=settings("none"))
    case("bce_with_logits/targets beyond 1", "bce_with_logits", [leaf([1.0, -1.0]), tensor([2.0, -1.0]), None],
         attributes=settings("none"), tolerance=1e-6)
    case("bce_with_logits/empty", "bce_with_logits", [empty(0, grad=True), empty(0), None], attributes=settings())


def classes():
    logits, row = [[1.0, 2.0, 3.0], [1.0, 0.0, -1.0], [0.0, 0.0, 0.0]], [0, -100, 2]
    for reduction in REDUCTIONS:
        none = only(reduction == "none", upstream=[])
        for name in ("cross_entropy", "nll_loss"):
            case(f"{name}/no rows, {reduction}", name, [empty(0, 3, grad=True), tensor([], "i64"), None],
                 attributes=settings(reduction), **none)
            case(f"{name}/every row ignored, {reduction}", name, [leaf(logits), tensor([-100] * 3, "i64"), None],
                 attributes=settings(reduction))
            case(f"{name}/a row ignored, {reduction}", name, [leaf(logits), tensor(row, "i64"), None],
                 attributes=settings(reduction), tolerance=1e-6)
        case(f"cross_entropy/smoothed, weighted, a row ignored, {reduction}", "cross_entropy",
             [leaf(logits), tensor(row, "i64"), tensor([0.5, 1.0, 2.0])],
             attributes=settings(reduction, label_smoothing=0.1), tolerance=2e-6)
        case(f"cross_entropy/smoothed, every row ignored, {reduction}", "cross_entropy",
             [leaf(logits), tensor([1] * 3, "i64"), None],
             attributes=settings(reduction, label_smoothing=0.5, ignore_index=1))
    for name in ("cross_entropy", "nll_loss"):
        case(f"{name}/weights of 0", name, [leaf(logits), tensor([0, 0, 0], "i64"), tensor([0.0, 1.0, 1.0])],
             attributes=settings())
        case(f"{name}/ignored class in range", name, [leaf(logits), tensor([0, 1, 2], "i64"), None],
             attributes=settings(ignore_index=1), tolerance=1e-6)
        case(f"{name}/target too far", name, [tensor(logits), tensor([0, 3, 0], "i64"), None], attributes=settings())
        case(f"{name}/negative target", name, [tensor(logits), tensor([0, -1, 0], "i64"), None], attributes=settings())
        case(f"{name}/infinite", name, [leaf([[INF, 0.0], [-INF, 0.0], [-INF, 0.0], [-INF, -INF], [NAN, 0.0]]),
                                        tensor([0, 0, 1, 0, 1], "i64"), None], attributes=settings("none"),
             absolute=1e-30)
        case(f"{name}/one class", name, [leaf([[5.0], [-INF]]), tensor([0, 0], "i64"),
             None], attributes=settings("none"), absolute=1e-30)
        given = {"operation": name, "inputs": [tensor(logits), tensor([0, 1, 2], "i64"), None], "attributes": settings()}
        case(f"{name}/targets of i32", name, [tensor(logits), tensor([0, 1, 2], "i32"), None], attributes=settings(),
             tolerance=1e-6, differs="losses of classes in i32", ours=run(given))
        case(f"{name}/one row without a batch", name, [tensor([1.0, 2.0, 3.0]), tensor(1, "i64"), None],
             attributes=settings(), tolerance=1e-6)
    case("cross_entropy/an ignored row that is not finite", "cross_entropy",
         [leaf([[INF, 1.0, 2.0], [NAN, 0.0, 1.0], [0.0, 0.0, 0.0]]), tensor([-100, -100, 2], "i64"), None],
         attributes=settings(), tolerance=1e-6,
         differs="cross_entropy, gradient of an ignored row with infinite or NaN logits",
         ours=lambda theirs: {"gradients": [[0.0] * 6 + theirs["gradients"][0][6:], None, None]})
    case("cross_entropy/smoothed fully", "cross_entropy", [leaf(logits), tensor([0, 1, 2], "i64"), None],
         attributes=settings(label_smoothing=1.0), tolerance=1e-6, absolute=1e-7)
    case("cross_entropy/smoothed, a masked class", "cross_entropy", [leaf([[1.0, -INF]]), tensor([0], "i64"), None],
         attributes=settings(label_smoothing=0.1), tolerance=1e-6)
    case("cross_entropy/smoothing beyond 1", "cross_entropy", [tensor(logits), tensor([0, 1, 2], "i64"), None],
         attributes=settings(label_smoothing=1.5))
    case("cross_entropy/far", "cross_entropy", [leaf([[1000.0, 0.0], [-1e38, 1e38]]), tensor([1, 0], "i64"), None],
         attributes=settings("none"), tolerance=1e-6)
    case("cross_entropy/f16", "cross_entropy", [leaf([[60000.0, -60000.0]], "f16"), tensor([1], "i64"), None],
         attributes=settings(), differs="losses of 16 bits, reduced", ours={"outputs": [tensor(120000.0)]})
    case("cross_entropy/further dimensions", "cross_entropy",
         [tensor([[[1.0, 2.0], [3.0, 4.0]]]), tensor([[0, 1]], "i64"), None], attributes=settings(), tolerance=1e-6)
    rows = [[[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]], [[0.5, 0.0], [0.0, 0.0], [-2.0, 1.0]]]
    for name in ("cross_entropy", "nll_loss"):
        for reduction in REDUCTIONS:
            upstream = only(reduction == "none", upstream=[[1.0, -2.0], [0.5, 3.0]])
            case(f"{name}/dimensions after the classes, weighted, {reduction}", name,
                 [leaf(rows), tensor([[2, 1], [-100, 0]], "i64"), tensor([0.5, 1.0, 2.0])],
                 attributes=settings(reduction), tolerance=2e-6, **upstream)
    probabilities()


def probabilities():
    name = "cross_entropy"
    logits = [[1.0, 2.0, 3.0], [1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
    shares = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.25, 0.5, 0.75]]
    weights = tensor([0.5, 1.0, 2.0])
    for reduction in REDUCTIONS:
        for label, weight, smoothing in (("", None, 0.0), (", weighted, smoothed", weights, 0.1)):
            case(f"{name}/probabilities{label}, {reduction}", name, [leaf(logits), leaf(shares), weight],
                 attributes=settings(reduction, label_smoothing=smoothing), tolerance=2e-6, absolute=1e-7)
        case(f"{name}/probabilities of nothing, {reduction}", name, [empty(0, 3), empty(0, 3), None],
             attributes=settings(reduction), absolute=1e-30)
    case(f"{name}/probabilities, dimensions after the classes", name, [leaf([logits]), leaf([shares]), weights],
         attributes=settings(label_smoothing=0.5), tolerance=2e-6, absolute=1e-7)
    case(f"{name}/probabilities of one row without a batch", name, [leaf(logits[0]), leaf(shares[0]), None],
         attributes=settings(), tolerance=2e-6, absolute=1e-7)
    case(f"{name}/probabilities of a masked class", name, [leaf([[1.0, -INF]]), leaf([[1.0, 0.0]]), None],
         attributes=settings())
    case(f"{name}/probabilities with an ignored class", name, [tensor(logits), tensor(shares), None],
         attributes=settings(ignore_index=1))
    case(f"{name}/probabilities of another shape", name, [tensor(logits), tensor([[0.5, 0.5]]), None],
         attributes=settings())


for part in (distances, divergences, probabilities_of_two, gaussians, binaries, classes):
    part()
