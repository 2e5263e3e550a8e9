"""Pooling and convolution: windows inside the padding and partial windows, sizes that do not divide, ties, and norms of
one element.
"""
from case import INF, NAN, case, empty, error, leaf, only, tensor

BATCHES = [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]]
NOTHING = "convolutions of images without elements or to a result without elements, with an empty batch"
LARGE = "norms of numbers beyond 1e19"
LINE = [[[1.0, 5.0, 2.0, 4.0, 3.0]]]
IMAGE = [[[[1.0, 2.0, 3.0, 4.0], [8.0, 7.0, 6.0, 5.0], [9.0, 9.0, 9.0, 9.0]]]]

BYTES = [[[[0, 200, 255], [11, 90, 3]]]]
LARGER_BYTES = [[[[0, 50, 150, 214, 241, 255], [3, 45, 130, 177, 187, 192], [8, 36, 90, 105, 79, 66],
                  [11, 31, 70, 68, 25, 3]]]]
CUBIC_BYTES = [[[[0, 45, 156, 250, 255, 255], [0, 41, 134, 198, 199, 200], [0, 35, 97, 114, 76, 54],
                 [5, 31, 74, 62, 2, 0]]]]


def one(kernel, **others):
    return {"kernel": [kernel], **others}


def two(kernel_h, kernel_w, **others):
    return {"kernel": [kernel_h, kernel_w], **others}


def pools():
    for kind in ("max", "avg"):
        name = f"{kind}_pool1d"
        for label, attributes in (
                ("padding", one(3, stride_w=2, padding_w=1)), ("ceil", one(2, stride_w=2, ceil_mode=True)),
                ("ceil, padding", one(3, stride_w=3, padding_w=1, ceil_mode=True)),
                ("ceil, a window in the padding alone", one(2, stride_w=3, padding_w=1, ceil_mode=True)),
                ("ceil, stride beyond the window", one(1, stride_w=3, ceil_mode=True)),
                ("as large as the line", one(5)), ("larger than the line", one(6)),
                ("padding above half", one(3, padding_w=2)), ("padding of half", one(4, stride_w=1, padding_w=2))):
            case(f"{name}/{label}", name, [leaf(LINE)], attributes=attributes, tolerance=2e-7)
        case(f"{name}/no batch", name, [empty(0, 1, 5)], attributes=one(2))
        case(f"{name}/no channels", name, [empty(1, 0, 5)], attributes=one(2))
        case(f"{name}/no length", name, [empty(1, 1, 0)], attributes=one(2, padding_w=1))
        case(f"{name}/without a batch dimension", name, [tensor(LINE[0])], attributes=one(2))
        case(f"{name}/special", name, [leaf([[[NAN, 1.0, INF, -INF, -INF, -INF, NAN, NAN]]])],
             attributes=one(2, stride_w=1))
        case(f"{name}/integers", name, [tensor([[[1, 2, 3, 4]]], "i32")], attributes=one(2))
        case(f"{name}/u8", name, [tensor([[[1, 2, 3, 4]]], "u8")], attributes=one(2))
        name = f"{kind}_pool2d"
        case(f"{name}/u8", name, [tensor(BYTES, "u8")], attributes=two(2, 2, stride_w=1))
        case(f"{kind}_pool3d/u8", f"{kind}_pool3d", [tensor([BYTES], "u8")], attributes={"kernel": [1, 2, 2]})
        for label, attributes in (
                ("padding", two(2, 2, stride_h=2, stride_w=2, padding_h=1, padding_w=1)),
                ("ceil", two(2, 3, stride_h=2, stride_w=3, ceil_mode=True)),
                ("ceil, padding", two(3, 2, stride_h=2, stride_w=3, padding_h=1, padding_w=1, ceil_mode=True))):
            case(f"{name}/{label}", name, [leaf(IMAGE)], attributes=attributes, tolerance=2e-7)
        if kind == "avg":
            for label, attributes in (
                    ("padding not counted", two(2, 2, padding_h=1, padding_w=1, count_include_pad=False)),
                    ("ceil, padding not counted", two(3, 2, stride_h=2, stride_w=3, padding_h=1, padding_w=1,
                                                      ceil_mode=True, count_include_pad=False))):
                case(f"{name}/{label}", name, [leaf(IMAGE)], attributes=attributes, tolerance=2e-7)
            case("avg_pool1d/ceil, padding not counted", "avg_pool1d", [leaf(LINE)],
                 attributes=one(2, stride_w=2, padding_w=1, ceil_mode=True, count_include_pad=False), tolerance=2e-7)
    case("max_pool1d/ties", "max_pool1d", [leaf([[[2.0, 2.0, 1.0, 2.0]]])], attributes=one(3, stride_w=1),
         upstream=[[[1.0, 2.0]]])
    case("max_pool1d/dilation", "max_pool1d", [leaf(LINE)], attributes=one(2, stride_w=1, dilation_w=3))
    case("max_pool1d/dilation, ceil", "max_pool1d", [leaf(LINE)],
         attributes=one(2, stride_w=2, dilation_w=2, padding_w=1, ceil_mode=True))
    case("max_pool2d/ties", "max_pool2d", [leaf([[[[1.0, 1.0], [1.0, 1.0]]]])], attributes=two(2, 2))
    case("max_pool1d/zeros of both signs", "max_pool1d", [leaf([[[-0.0, 0.0, 0.0, -0.0]]])], attributes=one(2))


def adaptive():
    for kind in ("avg", "max"):
        for size in (1, 2, 3, 7):
            case(f"adaptive_{kind}_pool1d/5 to {size}", f"adaptive_{kind}_pool1d", [leaf(LINE)],
                 attributes={"result": [size]}, tolerance=2e-7)
        case(f"adaptive_{kind}_pool2d/3 by 4 to 2 by 3", f"adaptive_{kind}_pool2d", [leaf(IMAGE)],
             attributes={"result": [2, 3]}, tolerance=2e-7)
        case(f"adaptive_{kind}_pool2d/u8", f"adaptive_{kind}_pool2d", [tensor(BYTES, "u8")],
             attributes={"result": [1, 2]})
        case(f"adaptive_{kind}_pool1d/special", f"adaptive_{kind}_pool1d", [leaf([[[NAN, 1.0, INF, -INF, -INF]]])],
             attributes={"result": [3]})
        case(f"adaptive_{kind}_pool1d/no batch", f"adaptive_{kind}_pool1d",
             [empty(0, 2, 5)], attributes={"result": [2]})
        case(f"adaptive_{kind}_pool1d/no length", f"adaptive_{kind}_pool1d",
             [empty(1, 2, 0)], attributes={"result": [2]})
        case(f"adaptive_{kind}_pool1d/to nothing", f"adaptive_{kind}_pool1d", [tensor(LINE)],
             attributes={"result": [0]}, differs="adaptive pooling to nothing", ours=error("INVALID_ARGUMENT"))


def convolutions():
    line, kernel = leaf([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]), leaf([[[1.0, -1.0]], [[2.0, 1.0]]])
    for label, attributes in (("groups", {"groups": 2}), ("groups, dilation", {"groups": 2, "dilation_w": 2}),
                              ("groups, stride, padding", {"groups": 2, "stride_w": 3, "padding_w": 2}),
                              ("groups, dilation too large", {"groups": 2, "dilation_w": 4}), ("wrong groups", {})):
        case(f"conv1d/{label}", "conv1d", [line, kernel, leaf([10.0, 20.0])], attributes=attributes)
    for label, attributes in (("groups", {"groups": 2}), ("stride", {"groups": 2, "stride_w": 3}),
                              ("output padding", {"groups": 2, "stride_w": 3, "output_padding_w": 2}),
                              ("padding, dilation", {"groups": 2, "stride_w": 2, "padding_w": 1, "dilation_w": 2}),
                              ("output padding by dilation", {"groups": 2, "dilation_w": 3, "output_padding_w": 2}),
                              ("output padding of a stride", {"groups": 2, "stride_w": 2, "output_padding_w": 2}),
                              ("nothing left", {"groups": 2, "padding_w": 3})):
        case(f"conv_transpose1d/{label}", "conv_transpose1d", [line, kernel, leaf([10.0, 20.0])], attributes=attributes)
    case("conv2d/dilation, stride, padding", "conv2d",
         [leaf(IMAGE), leaf([[[[1.0, 2.0], [3.0, 4.0]]]]), None],
         attributes={"stride_h": 2, "padding_h": 1, "padding_w": 2, "dilation_w": 2})
    case("conv_transpose2d/output padding on one side", "conv_transpose2d",
         [leaf(IMAGE), leaf([[[[1.0, 2.0], [3.0, 4.0]]]]), leaf([0.5])],
         attributes={"stride_h": 2, "stride_w": 3, "output_padding_h": 1})
    for name in ("conv1d", "conv_transpose1d"):
        case(f"{name}/no batch", name, [empty(0, 1, 4, grad=True), leaf([[[1.0, 2.0]]]), leaf([1.0])], upstream=[])
        is_forward = name == "conv1d"
        case(f"{name}/no channels", name, [empty(1, 0, 4), empty(1, 0, 2) if is_forward else empty(0, 1, 2), None],
             **only(is_forward, differs="convolutions without channels", ours=error("SHAPE_MISMATCH")))
        case(f"{name}/no batch, no elements", name, [empty(0, 1, 0), tensor([[[1.0, 2.0]]]), None],
             attributes={} if not is_forward else {"padding_w": 1}, differs=NOTHING, ours=error("SHAPE_MISMATCH"))
        case(f"{name}/without a batch dimension", name, [tensor(LINE[0]), tensor([[[1.0, 2.0]]]), None])
        case(f"{name}/special", name, [tensor([[[NAN, 0.0, 1.0, INF, 1.0]]]), tensor([[[1.0, 0.0]]]), None],
             attributes={"padding_w": 1})
        case(f"{name}/integers", name, [tensor([[[1, 2, 3]]], "i32"), tensor([[[1, 1]]], "i32"), None],
             **only(is_forward, differs="matmul, linear, einsum, convolutions of integers",
                    ours=error("DTYPE_MISMATCH")))
        case(f"{name}/other dtypes", name, [tensor([[[1.0, 2.0]]]), tensor([[[1.0]]], "f64"), None])
    case("conv_transpose1d/no batch, nothing left", "conv_transpose1d", [empty(0, 1, 3), tensor([[[1.0, 2.0]]]), None],
         attributes={"padding_w": 2}, differs=NOTHING, ours=error("INVALID_ARGUMENT"))
    case("conv1d/a kernel of 1 with padding", "conv1d", [leaf([[[1.0, 2.0]]]), leaf([[[3.0]]]), leaf([0.5])],
         attributes={"padding_w": 2, "stride_w": 2})


def volumes():
    volume = leaf([[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0, 8.0, 9.0], [-1.0, -2.0, -3.0]]]]])
    kernel = leaf([[[[[1.0, -1.0]], [[2.0, 0.5]]]]])
    for label, attributes in (("", {}), ("stride, padding", {"stride_d": 2, "stride_w": 2, "padding_d": 1,
                                                              "padding_h": 2}),
                              ("dilation, padding", {"dilation_w": 2, "padding_d": 3, "padding_w": 1}),
                              ("dilation too large", {"dilation_w": 3}), ("stride of 0", {"stride_d": 0})):
        case(f"conv3d/{label or 'plain'}", "conv3d", [volume, kernel, leaf([10.0])], attributes=attributes)
    two_channels = leaf([[[[[1.0, 2.0]], [[3.0, 4.0]]], [[[5.0, 6.0]], [[7.0, 8.0]]]]])
    two_kernels = leaf([[[[[1.0]], [[2.0]]]], [[[[3.0]], [[-1.0]]]]])
    case("conv3d/groups", "conv3d", [two_channels, two_kernels, None], attributes={"groups": 2})
    case("conv3d/wrong groups", "conv3d", [two_channels, two_kernels, None])
    case("conv3d/no batch", "conv3d", [empty(0, 1, 2, 2, 3, grad=True), kernel, leaf([1.0])], upstream=[])
    case("conv3d/without a batch dimension", "conv3d", [tensor([[[[1.0, 2.0]]]]), tensor([[[[[1.0]]]]]), None])
    case("conv3d/integers", "conv3d", [tensor([[[[[1]]]]], "i32"), tensor([[[[[1]]]]], "i32"), None],
         differs="matmul, linear, einsum, convolutions of integers", ours=error("DTYPE_MISMATCH"))


def sizes():
    pixels = [[[[1.0, 2.0, 4.0], [-1.0, 0.5, 8.0]]]]
    line = [[[1.0, 5.0, 2.0]]]
    for size in (1, 2, 3, 5, 9):
        case(f"upsample_nearest1d/3 to {size}", "upsample_nearest1d", [leaf(line)], attributes={"result": [size]})
        for corners in (False, True):
            label = f"3 to {size}{', aligned corners' if corners else ''}"
            case(f"upsample_linear1d/{label}", "upsample_linear1d", [leaf(line)],
                 attributes={"result": [size], "align_corners": corners}, tolerance=1e-6, absolute=1e-6)
    for height, width in ((1, 1), (2, 3), (3, 2), (5, 7)):
        label = f"2 by 3 to {height} by {width}"
        case(f"upsample_nearest2d/{label}", "upsample_nearest2d", [leaf(pixels)],
             attributes={"result": [height, width]})
        for corners in (False, True):
            for name in ("upsample_bilinear2d", "upsample_bicubic2d"):
                case(f"{name}/{label}{', aligned corners' if corners else ''}", name, [leaf(pixels)],
                     attributes={"result": [height, width], "align_corners": corners}, tolerance=1e-6, absolute=4e-6)
    case("upsample_nearest1d/special", "upsample_nearest1d", [leaf([[[NAN, -INF, -0.0]]])],
         attributes={"result": [5]})
    case("upsample_nearest1d/2 to 82", "upsample_nearest1d", [tensor([[[1.0, 2.0]]])], attributes={"result": [82]},
         differs="upsample_nearest1d, upsample_nearest2d, places",
         ours={"outputs": [tensor([[[1.0] * 41 + [2.0] * 41]])]})
    for name, given, result in (("upsample_nearest1d", [[[0, 200, 255]]], [5]),
                                ("upsample_linear1d", [[[0, 200, 255]]], [5]),
                                ("upsample_nearest2d", BYTES, [1, 7]), ("upsample_bilinear2d", BYTES, [2, 1]),
                                ("upsample_bicubic2d", BYTES, [2, 2])):
        case(f"{name}/u8", name, [tensor(given, "u8")], attributes={"result": result})
        case(f"{name}/integers", name, [tensor(given, "i32")], attributes={"result": result})
    row = "upsample_bilinear2d, upsample_bicubic2d of u8"
    case("upsample_bilinear2d/u8, both dimensions", "upsample_bilinear2d", [tensor(BYTES, "u8")],
         attributes={"result": [4, 6]}, differs=row, ours={"outputs": [tensor(LARGER_BYTES, "u8")]})
    case("upsample_bicubic2d/u8, both dimensions", "upsample_bicubic2d", [tensor(BYTES, "u8")],
         attributes={"result": [4, 6]}, differs=row, ours={"outputs": [tensor(CUBIC_BYTES, "u8")]})
    for name, result in (("upsample_nearest1d", [2]), ("upsample_linear1d", [2])):
        case(f"{name}/no batch", name, [empty(0, 1, 3)], attributes={"result": result})
        case(f"{name}/no length", name, [empty(1, 1, 0)], attributes={"result": result})
        case(f"{name}/to nothing", name, [tensor(line)], attributes={"result": [0]})
        case(f"{name}/without a batch dimension", name, [tensor(line[0])], attributes={"result": result})


def norms():
    rows = [[1.0, 2.0, 3.0], [4.0, 4.0, 4.0], [0.0, 0.0, 0.0], [NAN, 1.0, 2.0], [INF, 1.0, 2.0], [1e30, -1e30, 0.0]]
    weight, bias = leaf([1.0, 2.0, 3.0]), leaf([0.5, -0.5, 1.0])
    upstream = [[1.0, 2.0, 4.0]] * 3
    for epsilon in (1e-5, 0.0):
        case(f"layer_norm/epsilon {epsilon}", "layer_norm", [leaf(rows[:3]), weight, bias], upstream=upstream,
             attributes={"shape": [3], "epsilon": epsilon}, tolerance=1e-5, absolute=1e-5)
        case(f"rms_norm/epsilon {epsilon}", "rms_norm", [leaf(rows[:3]), weight], upstream=upstream,
             attributes={"shape": [3], "epsilon": epsilon}, tolerance=1e-5, absolute=1e-5)
        case(f"group_norm/epsilon {epsilon}", "group_norm", [leaf([rows[0] + rows[1]]), None, None], attributes={
             "groups": 2, "epsilon": epsilon}, upstream=[[1.0, 2.0, 4.0] * 2], tolerance=1e-5, absolute=1e-5)
    for name, inputs, attributes in (("layer_norm", [None, None], {"shape": [3]}), ("rms_norm", [None], {"shape": [3]}),
                                     ("group_norm", [None, None], {"groups": 1})):
        given = {**attributes, "epsilon": 1e-5}
        nothing = [NAN, 0.0, 0.0] if name == "rms_norm" else [NAN] * 3
        case(f"{name}/special", name, [tensor(rows[3:])] + inputs, attributes=given, tolerance=1e-5, absolute=1e-30,
             differs=LARGE, ours={"outputs": [tensor([[NAN] * 3, nothing, [1.5**0.5, -(1.5**0.5), 0.0]])]})
        case(f"{name}/empty", name, [empty(0, 3, grad=True)] + [
            leaf([1.0, 2.0, 3.0]) for _ in inputs], attributes=given, upstream=[])
        one_wide = {**given, "shape": [1]} if "shape" in given else given
        case(f"{name}/rows of one", name, [leaf([[5.0], [INF]])] + inputs, attributes=one_wide, tolerance=1e-5,
             absolute=1e-7)
        case(f"{name}/no width", name, [empty(2, 0)] + inputs,
             attributes={**given, "shape": [0]} if "shape" in given else given,
             **only(name == "group_norm", differs="group_norm of nothing", ours={"outputs": [empty(2, 0)]}))
        case(f"{name}/integers", name, [tensor([[1, 2, 3]], "i32")] + inputs, attributes=given)
        case(f"{name}/bf16 with weights of f32", name, [tensor([[1.0, 2.0, 3.0]], "bf16")] + [
            tensor([1.0, 2.0, 3.0]) for _ in inputs], attributes=given, tolerance=0.01)
    case("layer_norm/other shape", "layer_norm", [tensor([[1.0, 2.0]]), None, None],
         attributes={"shape": [3], "epsilon": 1e-5})
    case("layer_norm/weight of f64", "layer_norm", [tensor([[1.0, 2.0, 3.0]]), tensor([1.0, 1.0, 1.0], "f64"), None],
         attributes={"shape": [3], "epsilon": 1e-5}, tolerance=1e-5, absolute=1e-5,
         differs="layer_norm, rms_norm, group_norm, batch_norm with weights of another float dtype than the input",
         ours={"outputs": [tensor([[-1.2247357, 0.0, 1.2247357]])]})
    case("group_norm/one element a group, one sample", "group_norm", [tensor([[5.0, 3.0]]), None, tensor([1.0, 2.0])],
         attributes={"groups": 2, "epsilon": 1e-5}, differs="group_norm of one element a group",
         ours={"outputs": [tensor([[1.0, 2.0]])]})
    image = [[[1.0, 2.0, 4.0], [5.0, 5.0, 5.0]], [[-1.0, 0.0, 1.0], [1e3, 0.0, 2.0]]]
    for affine in ([None, None], [leaf([1.0, 2.0]), leaf([0.5, -0.5])]):
        label = "with weight and bias" if affine[0] else "alone"
        case(f"instance_norm/{label}", "instance_norm", [leaf(image)] + affine, attributes={"epsilon": 1e-5},
             upstream=[[[1.0, 2.0, 4.0]] * 2] * 2, tolerance=1e-5, absolute=1e-4)
    case("instance_norm/special", "instance_norm", [tensor([[[NAN, 1.0], [INF, 1.0], [1e30, -1e30]]]), None, None],
         attributes={"epsilon": 1e-5}, tolerance=1e-5, absolute=1e-30, differs=LARGE,
         ours={"outputs": [tensor([[[NAN, NAN], [NAN, NAN], [1.0, -1.0]]])]})
    case("instance_norm/no batch", "instance_norm", [empty(0, 2, 3), None, None], attributes={"epsilon": 1e-5})
    case("instance_norm/one element a channel", "instance_norm", [tensor([[[5.0], [3.0]]]), None, tensor([1.0, 2.0])],
         attributes={"epsilon": 1e-5}, differs="instance_norm of one element a channel",
         ours={"outputs": [tensor([[[1.0], [2.0]]])]})
    case("group_norm/groups that do not divide", "group_norm", [tensor([[5.0, 3.0, 1.0]]), None, None],
         attributes={"groups": 2, "epsilon": 1e-5})


def batch_norms():
    def given(training=True, momentum=0.1, epsilon=1e-5):
        return {"training": training, "momentum": momentum, "epsilon": epsilon}

    mean, variance = tensor([10.0, 20.0]), tensor([4.0, 0.0])
    batch = leaf(BATCHES)
    for label, attributes in (("training", given()), ("evaluation", given(False))):
        case(f"batch_norm/{label}", "batch_norm", [batch, mean, variance, leaf([2.0, 3.0]), leaf([0.5, -0.5])],
             upstream=[[1.0, 2.0], [3.0, 4.0], [6.0, 8.0]], attributes=attributes, tolerance=1e-5, absolute=1e-5)
    ones = tensor([1.0, 1.0])
    for label, values, upstream in (
            ("large gradients", [[0.0, 1.0]] * 4, [[1e38, 1.0]] * 4),
            ("infinite and NaN gradients", [[0.0, 1.0]] * 2, [[INF, 1.0], [1.0, NAN]]),
            ("infinite and NaN inputs", [[INF, 1.0], [1.0, NAN]], [[1.0, 2.0], [3.0, 4.0]])):
        case(f"batch_norm/evaluation, {label}", "batch_norm", [leaf(values), tensor([0.0, 0.0]), ones, None, None],
             upstream=upstream, attributes=given(False), tolerance=1e-5)
        case(f"batch_norm/evaluation, {label}, lines", "batch_norm",
             [leaf([[[v] for v in row] for row in values]), tensor([0.0, 0.0]), ones, None, None],
             upstream=[[[v] for v in row] for row in upstream], attributes=given(False), tolerance=1e-5)
    for momentum in (0.0, 1.0):
        case(f"batch_norm/momentum {momentum}", "batch_norm", [tensor(BATCHES), mean, variance, None, None],
             attributes=given(momentum=momentum), tolerance=1e-5, absolute=1e-5)
    row = "batch_norm with epsilon 0"
    case("batch_norm/training, epsilon 0", "batch_norm", [tensor([[1.0, 2.0], [3.0, 2.0]]), None, None, None, None],
         attributes=given(epsilon=0.0), differs=row, ours={"outputs": [tensor([[-1.0, NAN], [1.0, NAN]])]})
    case("batch_norm/evaluation, epsilon 0", "batch_norm", [tensor([[1.0, 2.0]]), mean, variance, None, None],
         attributes=given(False, epsilon=0.0), differs=row, ours={"outputs": [tensor([[-4.5, -INF]]), mean, variance]})
    case("batch_norm/one element a channel in training", "batch_norm",
         [tensor([[1.0, 2.0]]), mean, variance, None, None], attributes=given())
    case("batch_norm/one element a channel in evaluation", "batch_norm",
         [tensor([[1.0, 2.0]]), mean, variance, None, None], attributes=given(False), tolerance=1e-5)
    case("batch_norm/no samples in training", "batch_norm",
         [empty(0, 2), mean, variance, None, None], attributes=given())
    case("batch_norm/no samples in evaluation", "batch_norm", [empty(0, 2), mean, variance, None, None],
         attributes=given(False))
    case("batch_norm/nan and an infinity", "batch_norm", [tensor([[NAN, INF], [1.0, 1.0]]), mean, variance, None, None],
         attributes=given(), tolerance=1e-5)
    case("batch_norm/evaluation without statistics", "batch_norm", [tensor([[1.0, 2.0]]), None, None, None, None],
         attributes=given(False))
    case("batch_norm/training without statistics", "batch_norm", [leaf([[1.0], [3.0]]), None, None, None, None],
         attributes=given(), upstream=[[1.0], [2.0]], tolerance=1e-4, absolute=1e-5)
    case("batch_norm/one dimension", "batch_norm", [tensor([1.0, 2.0]), mean, variance, None, None],
         attributes=given())
    case("batch_norm/16-bit statistics", "batch_norm",
         [tensor([[1.0], [3.0]], "bf16"), tensor([0.0], "bf16"), tensor([1.0], "bf16"), None, None], attributes=given(),
         differs="batch_norm with 16-bit running statistics", ours=error("DTYPE_MISMATCH"),
         tolerance=0.01)


for part in (pools, adaptive, convolutions, volumes, sizes, norms, batch_norms):
    part()
