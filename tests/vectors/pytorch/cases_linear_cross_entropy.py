"""The loss of a linear layer: reductions, ignored rows, smoothed labels, class weights, nothing, NaN and infinities."""
from case import INF, NAN, case, empty, error, leaf, only, run, tensor
from cases_attention import noise

NAME = "linear_cross_entropy"
REDUCTIONS = ("mean", "sum", "none")
ROWS, CLASSES, FEATURES = 4, 5, 3


def operands(dtype="f32", bias=True, targets=(4, 0, 2, 2), class_weights=None):
    return [leaf(noise(1, ROWS, FEATURES), dtype), leaf(noise(2, CLASSES, FEATURES), dtype),
            leaf(noise(3, CLASSES), dtype) if bias else None, tensor(list(targets), "i64"), class_weights]


def lose(label, inputs, reduction="mean", differs=None, ours=None, **settings):
    tolerances = {"f64": (1e-12, 1e-13), "f32": (2e-6, 1e-6), "bf16": (0.004, 1e-6), "f16": (0.0005, 1e-6)}
    relative, absolute = tolerances[inputs[0]["dtype"]]
    rows = inputs[3]["shape"]
    case(f"{NAME}/{label}", NAME, inputs, attributes={"reduction": reduction, **settings}, tolerance=relative,
         absolute=absolute, differs=differs, ours=ours,
         **only(reduction == "none", upstream=[] if 0 in rows else noise(4, *rows)))


def settings_of_the_loss():
    weights = tensor([0.5, 1.0, 2.0, 0.25, 3.0])
    for reduction in REDUCTIONS:
        lose(f"{reduction}", operands(), reduction)
        lose(f"without bias, {reduction}", operands(bias=False), reduction)
        lose(f"smoothed, {reduction}", operands(), reduction, label_smoothing=0.1)
        lose(f"a row ignored, {reduction}", operands(targets=(4, -100, 2, 2)), reduction)
        lose(f"every row ignored, {reduction}", operands(targets=[-100] * 4), reduction)
        lose(f"weighted, smoothed, a class ignored, {reduction}", operands(class_weights=weights), reduction,
             ignore_index=2, label_smoothing=0.25)
        lose(f"no rows, {reduction}", [empty(0, 3, grad=True), *operands()[1:3], tensor([], "i64"), None], reduction)
    lose("f64", operands("f64"))
    lose("one row without a batch", [leaf(noise(1, FEATURES)), *operands()[1:3], tensor(1, "i64"), None])
    lose("smoothed fully", operands(), label_smoothing=1.0)
    lose("no features", [empty(4, 0), empty(5, 0), *operands()[2:]], "none")
    lose("one class", [operands()[0], leaf(noise(2, 1, FEATURES)), None, tensor([0] * 4, "i64"), None], "none")


def specials():
    rows = leaf([[1e4, 0.0], [-1e4, 1e4]])
    lose("far logits", [rows, leaf([[1.0, 0.0], [0.0, 1.0]]), None, tensor([1, 0], "i64"), None], "none")
    rows = leaf([[NAN, 0.0], [1.0, 1.0]])
    lose("NaN in a row", [rows, leaf([[1.0, 0.0], [0.0, 1.0]]), None, tensor([1, 0], "i64"), None], "none")
    lose("a masked class", [tensor([[1.0, 2.0]]), tensor([[1.0, 0.0], [0.0, 1.0]]), tensor([0.0, -INF]),
                            tensor([0], "i64"), None], "none")


def in_f32(inputs, reduction):
    """The result in f32, with gradients that the comparison rounds."""
    wide = [given if given is None or given["dtype"] == "i64" else {**given, "dtype": "f32"} for given in inputs]
    return lambda theirs: run({"operation": NAME, "inputs": wide, "attributes": {"reduction": reduction},
                               **only(reduction == "none", upstream=noise(4, ROWS))})


def of_rows(inputs, shape):
    """The result for a list of rows, in the shape of the targets."""
    flat = [{**inputs[0], "shape": [ROWS, FEATURES]}, *inputs[1:3], {**inputs[3], "shape": [ROWS]}, None]

    def ours(theirs):
        answer = run({"operation": NAME, "inputs": flat, "attributes": {"reduction": "none"},
                      "upstream": noise(4, *shape)})
        return {**answer, "outputs": [{**answer["outputs"][0], "shape": list(shape)}]}

    return ours


def differences():
    for dtype in ("bf16", "f16"):
        for reduction in ("mean", "none"):
            given = operands(dtype)
            lose(f"{dtype}, {reduction}", given, reduction, differs=f"{NAME} of 16 bits", ours=in_f32(given, reduction))
    row, given = f"{NAME} of more than two dimensions", operands()
    given[0], given[3] = {**given[0], "shape": [2, 2, FEATURES]}, {**given[3], "shape": [2, 2]}
    lose("two batches", given, "none", differs=row, ours=of_rows(given, (2, 2)))
    row, given = f"{NAME} of probabilities, or of classes with further dimensions", operands()
    lose("probabilities", [*given[:3], tensor([[0.5, 0.25, 0.25, 0.0, 0.0]] * ROWS), None], differs=row,
         ours=error("DTYPE_MISMATCH"))
    lose("classes with a further dimension", [given[0], leaf(noise(2, CLASSES, 2, FEATURES)), None,
                                              tensor([[0, 1]] * ROWS, "i64"), None],
         differs=row, ours=error("SHAPE_MISMATCH"))


def mistakes():
    lose("class weights that ask for gradients", operands(class_weights=leaf([0.5, 1.0, 2.0, 0.25, 3.0])))
    lose("target too far", operands(targets=(0, 5, 0, 0)))
    lose("negative target", operands(targets=(0, -1, 0, 0)))
    lose("fewer targets than rows", operands(targets=(0, 1, 0)))
    lose("two numbers of features", [operands()[0], leaf(noise(2, CLASSES, 2)), *operands()[2:]])
    lose("two dtypes", [operands()[0], *operands("f64")[1:]])
    lose("smoothing beyond 1", operands(), label_smoothing=1.5)


for part in (settings_of_the_loss, specials, differences, mistakes):
    part()
