"""Images whose elements move: paddings as large as they may be, windows that overlap or leave gaps, volumes."""
import itertools

from case import INF, NAN, case, empty, error, leaf, only, tensor

LINE = [[[1.0, 2.0, 3.0, 4.0]]]
IMAGE = [[[[1.0, 2.0, 3.0, 4.0], [8.0, 7.0, 6.0, 5.0], [9.0, NAN, -INF, 10.0]]]]
UNEVEN = {"stride_h": 2, "padding_w": 2, "dilation_w": 2}
VOLUME = [[[[[1.0, 5.0, 2.0], [4.0, 3.0, 5.0]], [[5.0, 0.0, -1.0], [2.0, 2.0, 8.0]], [[7.0, 8.0, 8.0], [0.0, 1.0, 3.0]]]]]


def paddings():
    for mode in ("reflect", "replicate", "circular"):
        name = "pad_" + mode
        for label, padding in (("line", [1, 3]), ("removes", [-1, 2]), ("line, nothing", [0, 0])):
            case(f"{name}/{label}", name, [leaf(LINE)], attributes={"padding": padding})
        case(f"{name}/image", name, [leaf(IMAGE)], attributes={"padding": [1, 2, 2, 0]})
        case(f"{name}/as large as the line", name, [tensor(LINE)], attributes={"padding": [4, 0]})
        case(f"{name}/larger than the line", name, [tensor(LINE)], attributes={"padding": [0, 5]})
        case(f"{name}/no batch", name, [empty(0, 1, 3, grad=True)], attributes={"padding": [1, 1]}, upstream=[])
        case(f"{name}/a vector", name, [tensor([1.0, 2.0, 3.0])], attributes={"padding": [1, 1]},
             differs="pad_reflect, pad_replicate, pad_circular, dimensions",
             ours={"outputs": [tensor({"reflect": [2.0, 1.0, 2.0, 3.0, 2.0], "replicate": [1.0, 1.0, 2.0, 3.0, 3.0],
                                       "circular": [3.0, 1.0, 2.0, 3.0, 1.0]}[mode])]})


def shuffles():
    channels = [[[[float(4 * i + j) for j in range(4)]] for i in range(8)]]
    case("pixel_shuffle/by 2", "pixel_shuffle", [leaf(channels)], attributes={"factor": 2})
    case("pixel_unshuffle/by 2", "pixel_unshuffle", [leaf([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]])],
         attributes={"factor": 2})
    for name, wrong in (("pixel_shuffle", 3), ("pixel_unshuffle", 3)):
        case(f"{name}/not divisible", name, [tensor(channels)], attributes={"factor": wrong})
        case(f"{name}/integers of one image", name, [tensor([[[1, 2], [3, 4]]] * 4, "i32")], attributes={"factor": 2})
        case(f"{name}/two dimensions", name, [tensor([[1.0]])], attributes={"factor": 1})
        case(f"{name}/by 0", name, [tensor(channels)], attributes={"factor": 0})


def folds():
    for label, attributes in (("2 by 2", {"kernel": [2, 2]}), ("uneven", {"kernel": [2, 3], **UNEVEN}),
                              ("beyond", {"kernel": [4, 1]})):
        case(f"unfold/{label}", "unfold", [leaf(IMAGE)], attributes=attributes)
    case("unfold/one image", "unfold", [leaf(IMAGE[0])], attributes={"kernel": [1, 2]})
    case("unfold/no batch", "unfold", [empty(0, 1, 3, 3, grad=True)], attributes={"kernel": [2, 2]}, upstream=[])
    columns = [[[float(i * 6 + j) for j in range(6)] for i in range(4)]]
    case("fold/2 by 2", "fold", [leaf(columns)], attributes={"kernel": [2, 2], "result": [3, 4]})
    case("fold/one image", "fold", [leaf(columns[0])], attributes={"kernel": [2, 2], "result": [3, 4]})
    case("fold/with gaps", "fold", [leaf([[[1.0, 2.0, 3.0, 4.0]]])],
         attributes={"kernel": [1, 1], "stride_h": 2, "stride_w": 3, "result": [3, 5]})
    case("fold/other positions", "fold", [tensor(columns)], attributes={"kernel": [2, 2], "result": [4, 4]})
    case("fold/other rows", "fold", [tensor(columns)], attributes={"kernel": [3, 1], "result": [3, 4]})


def volumes():
    for kind in ("max", "avg"):
        name = f"{kind}_pool3d"
        for label, attributes in (
                ("2 by 2 by 2", {"kernel": [2, 2, 2], "stride_d": 1, "stride_w": 1}),
                ("padding", {"kernel": [2, 2, 2], "padding_d": 1, "padding_h": 1, "padding_w": 1}),
                ("ceil", {"kernel": [2, 1, 2], "stride_d": 2, "stride_w": 2, "ceil_mode": True}),
                ("ceil, padding", {"kernel": [3, 2, 2], "stride_d": 3, "stride_w": 2, "padding_d": 1, "padding_w": 1,
                                   "ceil_mode": True}),
                ("padding above half", {"kernel": [2, 2, 2], "padding_d": 2})):
            case(f"{name}/{label}", name, [leaf(VOLUME)], attributes=attributes, tolerance=4e-7)
        case(f"{name}/special", name, [leaf([[[[[NAN, 1.0]], [[INF, 2.0]]], [[[-INF, NAN]], [[-INF, 3.0]]]]])],
             attributes={"kernel": [2, 1, 2]})
        case(f"{name}/without a batch dimension", name, [tensor(VOLUME[0])], attributes={"kernel": [1, 2, 3]},
             tolerance=2e-7)
    case("max_pool3d/ties", "max_pool3d", [leaf([[[[[1.0, 1.0]], [[1.0, 1.0]]]]])], attributes={"kernel": [2, 1, 2]})
    case("max_pool3d/dilation", "max_pool3d", [leaf(VOLUME)],
         attributes={"kernel": [2, 1, 2], "stride_d": 1, "stride_w": 1, "dilation_d": 2, "dilation_w": 2})
    case("avg_pool3d/padding not counted", "avg_pool3d", [leaf(VOLUME)],
         attributes={"kernel": [2, 2, 2], "padding_d": 1, "padding_w": 1, "ceil_mode": True,
                     "count_include_pad": False}, tolerance=4e-7)
    kernel = leaf([[[[[1.0, -1.0]], [[2.0, 0.5]]]]])
    for label, attributes in (("plain", {}), ("stride, padding", {"stride_d": 2, "stride_w": 2, "padding_d": 1}),
                              ("dilation, output padding", {"dilation_d": 2, "dilation_w": 3, "output_padding_w": 2}),
                              ("output padding of a stride", {"stride_h": 2, "output_padding_h": 2}),
                              ("nothing left", {"padding_h": 1})):
        case(f"conv_transpose3d/{label}", "conv_transpose3d", [leaf(VOLUME), kernel, leaf([10.0])],
             attributes=attributes)
    case("conv_transpose3d/groups", "conv_transpose3d",
         [leaf([[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]]), leaf([[[[[1.0, 2.0]]]], [[[[3.0, -1.0]]]]]), None],
         attributes={"groups": 2})
    case("conv_transpose3d/no batch", "conv_transpose3d", [empty(0, 1, 2, 2, 3, grad=True), kernel, leaf([1.0])],
         upstream=[])


# Inside, at the ends, between two elements, and outside by less and by more than the size.
PLACES = [[0.3, -0.4], [-1.0, 1.0], [1.0, -1.0], [0.0, 0.0], [-1.6, 2.7], [0.9, -5.3]]
DEPTHS = (0.2, -1.0, 1.0, 0.0, 1.7, -0.6)


def grids():
    pixels = [[[[1.0, 2.0, 4.0], [-1.0, 0.5, 8.0]]]]
    deep = [place + [depth] for place, depth in zip(PLACES, DEPTHS)]
    for mode, padding, corners in itertools.product(("bilinear", "nearest", "bicubic"),
                                                    ("zeros", "border", "reflection"), (False, True)):
        settings = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        name = f"grid_sample/{mode}, {padding}{', aligned corners' if corners else ''}"
        case(name, "grid_sample", [leaf(pixels), leaf([[PLACES]])], attributes=settings, tolerance=1e-6, absolute=2e-5)
        case(f"{name}, volume", "grid_sample", [leaf(VOLUME), leaf([[[deep]]])], attributes=settings, tolerance=1e-6,
             absolute=4e-5)
        case(f"{name}, one element", "grid_sample", [leaf([[[[2.0]]]]), leaf([[PLACES]])], attributes=settings,
             tolerance=1e-6, absolute=4e-6)
        # Reflections of far places depend on the last digit in FP32.
        wild = [[x, 0.25] for x in (NAN, INF, -INF) + ((1e30, -3e9) if padding != "reflection" else ())]
        case(f"{name}, special", "grid_sample", [tensor(pixels), tensor([[wild]])], attributes=settings,
             tolerance=1e-6, absolute=1e-5,
             **only(padding == "zeros" and mode != "nearest",
                    differs="grid_sample with zeros at coordinates that are NaN or infinite",
                    ours={"outputs": [tensor([[[[0.0] * len(wild)]]])]}))
    settings = {"mode": "bilinear", "padding_mode": "zeros"}
    for label, inputs in (("no batch", [empty(0, 1, 2, 3), empty(0, 2, 2, 2)]),
                          ("no channels", [empty(1, 0, 2, 3), tensor([[PLACES]])]),
                          ("no places", [tensor(pixels), empty(1, 0, 2, 2)]),
                          ("no height", [empty(1, 1, 0, 3), tensor([[PLACES]])]),
                          ("other batches", [tensor(pixels), tensor([[PLACES]] * 2)]),
                          ("three coordinates", [tensor(pixels), tensor([[[[0.0, 0.0, 0.0]]]])]),
                          ("without a batch dimension", [tensor(pixels[0]), tensor([PLACES])]),
                          ("integers", [tensor([[[[1, 2]]]], "i32"), tensor([[PLACES]])])):
        case(f"grid_sample/{label}", "grid_sample", inputs, attributes=settings)
    case("grid_sample/two dtypes", "grid_sample", [tensor([[[[1.0, 2.0]]]], "bf16"), tensor([[[[0.25, 0.0]]]])],
         attributes=settings, differs="lerp, is_close, prelu, grid_sample of two dtypes",
         ours={"outputs": [tensor([[[[1.75]]]])]})
    case("grid_sample/nearest, between two", "grid_sample",
         [tensor([[[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]]]), tensor([[[[0.6666667, 0.0]]]])],
         attributes={"mode": "nearest", "padding_mode": "zeros"}, differs="grid_sample, places",
         ours={"outputs": [tensor([[[[5.0]]]])]})


for part in (paddings, shuffles, folds, volumes, grids):
    part()
