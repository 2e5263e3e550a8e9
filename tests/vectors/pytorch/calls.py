"""Each of halftone's operations in PyTorch: functions of the inputs and the settings."""
import math

import torch
import torch.nn.functional as F

from dtypes import DTYPES, NAMES

CALLS = {}


def call(name):
    def enter(function):
        CALLS[name] = function
        return function
    return enter


def simple(names, function_of):
    for name in names.split():
        CALLS[name] = (lambda function: lambda x, s: function(*x))(function_of(name))


simple("floor ceil round trunc sign erf log1p expm1 tan log2 log10 atan2 logaddexp fmod remainder floor_divide lerp "
       "logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not", lambda name: getattr(torch, name))
simple("exp log sqrt rsqrt reciprocal abs neg sin cos sigmoid tanh add sub mul div maximum minimum pow eq ne lt le gt "
       "ge logical_and logical_or logical_not where matmul", lambda name: getattr(torch, name))
simple("relu silu softplus linear hardswish mish selu prelu", lambda name: getattr(F, name))
CALLS["is_nan"] = lambda x, s: torch.isnan(x[0])
CALLS["is_finite"] = lambda x, s: torch.isfinite(x[0])
CALLS["is_inf"] = lambda x, s: torch.isinf(x[0])
CALLS["is_close"] = lambda x, s: torch.isclose(x[0], x[1], read(s["rtol"]), read(s["atol"]), s.get("equal_nan", False))
CALLS["nan_to_num"] = lambda x, s: torch.nan_to_num(
    x[0], read(s["nan"]), *(read(s[name]) if name in s else None for name in ("posinf", "neginf")))
CALLS["log_sigmoid"] = lambda x, s: F.logsigmoid(x[0])
CALLS["glu"] = lambda x, s: F.glu(x[0], s["dim"])
CALLS["lerp_scalar"] = lambda x, s: torch.lerp(x[0], x[1], s["weight"])
CALLS["addcdiv"] = lambda x, s: torch.addcdiv(x[0], x[1], x[2], value=read(s["value"]))
CALLS["gelu"] = lambda x, s: F.gelu(x[0], approximate="tanh" if s["form"] == "tanh" else "none")
CALLS["pow_scalar"] = lambda x, s: torch.pow(x[0], s["exponent"])
CALLS["leaky_relu"] = lambda x, s: F.leaky_relu(x[0], s["negative_slope"])
CALLS["elu"] = lambda x, s: F.elu(x[0], s["alpha"])
CALLS["addcmul"] = lambda x, s: torch.addcmul(x[0], x[1], x[2], value=read(s["value"]))
CALLS["rescale"] = lambda x, s: x[0] * float(s["scale"]) + float(s["offset"])
CALLS["masked_fill"] = lambda x, s: x[0].masked_fill(x[1], read(s["value"])) if x[0].shape == torch.broadcast_shapes(
    x[0].shape, x[1].shape) else torch.masked_fill(*torch.broadcast_tensors(x[0], x[1]), read(s["value"]))


def read(value):
    """A setting. Values that JSON has no number for are strings there."""
    return float(value) if isinstance(value, str) else value


@call("clamp")
def clamp(x, s):
    low, high = read(s["low"]), read(s["high"])
    return torch.clamp(x[0], None if low == -math.inf else low, None if high == math.inf else high)


@call("cast")
def cast(x, s):
    return x[0].to(DTYPES[s["dtype"]])


# Numbers and writes in place.
for name in "add sub mul div eq ne lt le gt ge".split():
    CALLS[name + "_scalar"] = (lambda f: lambda x, s: f(x[0], read(s["number"])))(getattr(torch, name))
for name in "add sub mul div copy".split():
    CALLS["copy_from" if name == "copy" else name + "_in_place"] = (
        lambda f: lambda x, s: getattr(x[0], f)(x[1]).clone())(name + "_")


# Reductions. No `dims` means all.
def dims(s, input):
    return tuple(s["dims"]) if s.get("dims") else tuple(range(input.dim()))


def keep(s):
    return bool(s.get("keepdim", False))


for name in "sum mean amax amin".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], dims(s, x[0]), keepdim=keep(s)))(getattr(torch, name))
CALLS["log_sum_exp"] = lambda x, s: torch.logsumexp(x[0], dims(s, x[0]), keepdim=keep(s))
for name in "var std".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], dims(s, x[0]) if "dims" in s else None, correction=s["correction"],
                                            keepdim=keep(s)))(getattr(torch, name))
CALLS["var_mean"] = lambda x, s: torch.var_mean(x[0], dims(s, x[0]) if "dims" in s else None,
                                                correction=s["correction"], keepdim=keep(s))
CALLS["vector_norm"] = lambda x, s: torch.linalg.vector_norm(
    x[0], read(s["p"]), tuple(s["dims"]) if s.get("dims") else None, keepdim=keep(s))


@call("prod")
def prod(x, s):
    """PyTorch's takes one dimension or all."""
    if not s.get("dims"):
        return torch.prod(x[0])
    dim, = s["dims"]
    return torch.prod(x[0], dim, keepdim=keep(s))


for name in "any all".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], dims(s, x[0]), keepdim=keep(s)) if s.get("dims") else f(x[0]))(
        getattr(torch, name))
for name in "argmax argmin".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], s["dim"], keepdim=keep(s)))(getattr(torch, name))
CALLS["max_dim"] = lambda x, s: torch.max(x[0], s["dim"], keepdim=keep(s))
CALLS["min_dim"] = lambda x, s: torch.min(x[0], s["dim"], keepdim=keep(s))
for name in "cumsum cumprod softmax log_softmax".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], s["dim"]))(getattr(torch, name))

# Shapes.
CALLS["reshape"] = lambda x, s: x[0].reshape(s["shape"])
CALLS["transpose"] = lambda x, s: x[0].transpose(s["dim0"], s["dim1"])
CALLS["permute"] = lambda x, s: x[0].permute(s["dims"])
CALLS["unsqueeze"] = lambda x, s: x[0].unsqueeze(s["dim"])
CALLS["squeeze"] = lambda x, s: x[0].squeeze(tuple(s["dims"])) if s.get("dims") else x[0].squeeze()
CALLS["broadcast_to"] = lambda x, s: x[0].expand(s["shape"])
CALLS["cat"] = lambda x, s: torch.cat(x, s["dim"])
CALLS["stack"] = lambda x, s: torch.stack(x, s["dim"])
CALLS["split"] = lambda x, s: torch.split(x[0], s["sizes"], s["dim"])
CALLS["pad"] = lambda x, s: F.pad(x[0], s["padding"], value=read(s["value"]))
for name in "reflect replicate circular".split():
    CALLS["pad_" + name] = (lambda mode: lambda x, s: F.pad(x[0], s["padding"], mode=mode))(name)
CALLS["pixel_shuffle"] = lambda x, s: F.pixel_shuffle(x[0], s["factor"])
CALLS["pixel_unshuffle"] = lambda x, s: F.pixel_unshuffle(x[0], s["factor"])
CALLS["flip"] = lambda x, s: torch.flip(x[0], s["dims"])
CALLS["tril"] = lambda x, s: torch.tril(x[0], s["diagonal"])
CALLS["triu"] = lambda x, s: torch.triu(x[0], s["diagonal"])
CALLS["einsum"] = lambda x, s: torch.einsum(s["equation"], *x)


@call("slice")
def slice_(x, s):
    return torch.ops.aten.slice(x[0], s["dim"], s["start"], s["end"], s["step"])


@call("arange")
def arange(x, s):
    return torch.arange(s["start"], s["end"], s["step"], dtype=DTYPES[s["dtype"]])


CALLS["tile"] = lambda x, s: torch.tile(x[0], s["repeats"])
CALLS["roll"] = lambda x, s: torch.roll(x[0], s["shifts"], s["dims"])
CALLS["linspace"] = lambda x, s: torch.linspace(s["start"], s["end"], s["count"], dtype=DTYPES[s["dtype"]])
CALLS["eye"] = lambda x, s: torch.eye(s["rows"], s["columns"], dtype=DTYPES[s["dtype"]])
CALLS["one_hot"] = lambda x, s: F.one_hot(x[0], s["classes"])

# Indices.
CALLS["gather"] = lambda x, s: torch.gather(x[0], s["dim"], x[1])
CALLS["scatter_add"] = lambda x, s: torch.scatter_add(x[0], s["dim"], x[1], x[2])
CALLS["index_select"] = lambda x, s: torch.index_select(x[0], s["dim"], x[1])
CALLS["index_add"] = lambda x, s: torch.index_add(x[0], s["dim"], x[1], x[2])
CALLS["index_copy"] = lambda x, s: torch.index_copy(x[0], s["dim"], x[1], x[2])
CALLS["scatter"] = lambda x, s: torch.scatter(x[0], s["dim"], x[1], x[2])
CALLS["scatter_scalar"] = lambda x, s: torch.scatter(x[0], s["dim"], x[1], read(s["number"]))
CALLS["scatter_reduce"] = lambda x, s: torch.scatter_reduce(x[0], s["dim"], x[1], x[2], s["reduction"],
                                                            include_self=s["include_self"])
CALLS["index"] = lambda x, s: x[0][tuple(x[1:])]
CALLS["index_put"] = lambda x, s: torch.index_put(x[0], tuple(x[1:-1]), x[-1], s["accumulate"])
CALLS["masked_select"] = lambda x, s: torch.masked_select(x[0], x[1])
CALLS["embedding"] = lambda x, s: F.embedding(x[1], x[0], padding_idx=s.get("padding_index"))

# Choices of elements.
CALLS["sort"] = lambda x, s: torch.sort(x[0], dim=s["dim"], descending=s["descending"], stable=True)
CALLS["argsort"] = lambda x, s: torch.argsort(x[0], dim=s["dim"], descending=s["descending"], stable=True)
CALLS["topk"] = lambda x, s: torch.topk(x[0], s["k"], s["dim"], s["largest"], s["sorted"])
CALLS["multinomial"] = lambda x, s: torch.multinomial(x[0], s["num_samples"], s["replacement"])
CALLS["nonzero"] = lambda x, s: torch.nonzero(x[0])

CALLS["kthvalue"] = lambda x, s: torch.kthvalue(x[0], s["k"], s["dim"], keepdim=keep(s))
CALLS["median"] = lambda x, s: torch.median(x[0])
CALLS["median_dim"] = lambda x, s: torch.median(x[0], s["dim"], keepdim=keep(s))
CALLS["quantile"] = lambda x, s: torch.quantile(x[0], s["q"], s["dim"], keepdim=keep(s),
                                                interpolation=s.get("interpolation", "linear"))
for name in "cummax cummin".split():
    CALLS[name] = (lambda f: lambda x, s: f(x[0], s["dim"]))(getattr(torch, name))
CALLS["searchsorted"] = lambda x, s: torch.searchsorted(x[0], x[1], right=s["right"])
CALLS["isin"] = lambda x, s: torch.isin(x[0], x[1])
CALLS["bincount"] = lambda x, s: torch.bincount(x[0], x[1], s["minlength"])
CALLS["repeat_interleave"] = lambda x, s: torch.repeat_interleave(x[0], s["count"], s["dim"])
CALLS["repeat_interleave_counts"] = lambda x, s: torch.repeat_interleave(x[0], x[1], s["dim"])
CALLS["diag"] = lambda x, s: torch.diag(x[0], s["diagonal"])
CALLS["meshgrid"] = lambda x, s: torch.meshgrid(*x, indexing="xy" if s["xy"] else "ij")

# Losses.
CALLS["mse_loss"] = lambda x, s: F.mse_loss(x[0], x[1], reduction=s["reduction"])
CALLS["l1_loss"] = lambda x, s: F.l1_loss(x[0], x[1], reduction=s["reduction"])
CALLS["smooth_l1_loss"] = lambda x, s: F.smooth_l1_loss(x[0], x[1], beta=s["beta"], reduction=s["reduction"])
CALLS["huber_loss"] = lambda x, s: F.huber_loss(x[0], x[1], delta=s["delta"], reduction=s["reduction"])
CALLS["bce_loss"] = lambda x, s: F.binary_cross_entropy(x[0], x[1], x[2], reduction=s["reduction"])
CALLS["gaussian_nll_loss"] = lambda x, s: F.gaussian_nll_loss(
    x[0], x[1], x[2], full=s.get("full", False), eps=s.get("epsilon", 1e-6), reduction=s["reduction"])
CALLS["ctc_loss"] = lambda x, s: F.ctc_loss(
    *x, blank=s.get("blank", 0), reduction=s["reduction"], zero_infinity=s.get("zero_infinity", False))
CALLS["margin_ranking_loss"] = lambda x, s: F.margin_ranking_loss(*x, margin=s["margin"], reduction=s["reduction"])
CALLS["cosine_embedding_loss"] = lambda x, s: F.cosine_embedding_loss(*x, margin=s["margin"], reduction=s["reduction"])
CALLS["triplet_margin_loss"] = lambda x, s: F.triplet_margin_loss(
    *x, margin=s.get("margin", 1.0), p=s.get("p", 2.0), eps=s.get("epsilon", 1e-6), swap=s.get("swap", False),
    reduction=s["reduction"])
CALLS["normalize"] = lambda x, s: F.normalize(x[0], read(s.get("p", 2.0)), s["dim"], s.get("epsilon", 1e-12))
CALLS["cosine_similarity"] = lambda x, s: F.cosine_similarity(*x, s["dim"], s.get("epsilon", 1e-8))
CALLS["pairwise_distance"] = lambda x, s: F.pairwise_distance(
    *x, read(s.get("p", 2.0)), s.get("epsilon", 1e-6), keep(s))
CALLS["cdist"] = lambda x, s: torch.cdist(*x, read(s["p"]))
CALLS["kl_div"] = lambda x, s: F.kl_div(x[0], x[1], log_target=s["log_target"],
                                        reduction=s["reduction"].replace("batch_mean", "batchmean"))
CALLS["bce_with_logits"] = lambda x, s: F.binary_cross_entropy_with_logits(
    x[0], x[1], pos_weight=x[2], reduction=s["reduction"])
CALLS["cross_entropy"] = lambda x, s: F.cross_entropy(
    x[0], x[1], x[2], ignore_index=s.get("ignore_index", -100), label_smoothing=s.get("label_smoothing", 0.0),
    reduction=s["reduction"])
CALLS["nll_loss"] = lambda x, s: F.nll_loss(x[0], x[1], x[2], ignore_index=s.get("ignore_index", -100),
                                            reduction=s["reduction"])

CALLS["linear_cross_entropy"] = lambda x, s: F.linear_cross_entropy(
    x[0], x[1], x[3], linear_bias=x[2], weight=x[4], ignore_index=s.get("ignore_index"),
    label_smoothing=s.get("label_smoothing", 0.0), reduction=s["reduction"])


# Attention. PyTorch has no offset of the causal mask and no rotation: both are made from their definitions.
@call("scaled_dot_product_attention")
def scaled_dot_product_attention(x, s):
    q, k, v, mask = x
    is_causal = s.get("causal", False)
    if "causal_offset" in s:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(s["causal_offset"])
        is_causal = False
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, enable_gqa=s.get("enable_gqa", False),
                                          scale=None if "scale" not in s else read(s["scale"]))


@call("rotary_embedding")
def rotary_embedding(x, s):
    """In f64; pair i of a row at position p is turned by p * base^(-2 i / depth)."""
    given, positions = x[0].to(torch.float64), x[1]
    rows, depth = given.shape[-2:]
    if positions is None:
        positions = s.get("offset", 0) + torch.arange(rows)
    rates = s.get("base", 10000.0) ** (-torch.arange(0, depth, 2, dtype=torch.float64) / depth)
    angles = positions.to(torch.float64).unsqueeze(-1) * rates
    is_interleaved = s.get("interleaved", False)
    pairs = given.unflatten(-1, (-1, 2)) if is_interleaved else given.unflatten(-1, (2, -1)).transpose(-1, -2)
    a, b = pairs.unbind(-1)
    turned = torch.stack((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)
    return (turned if is_interleaved else turned.transpose(-1, -2)).flatten(-2).to(x[0].dtype)


# Norms. In training mode a batch norm also returns its running statistics.
CALLS["layer_norm"] = lambda x, s: F.layer_norm(x[0], s["shape"], x[1], x[2], s["epsilon"])
CALLS["rms_norm"] = lambda x, s: F.rms_norm(x[0], s["shape"], x[1], s["epsilon"])
CALLS["group_norm"] = lambda x, s: F.group_norm(x[0], s["groups"], x[1], x[2], s["epsilon"])
CALLS["instance_norm"] = lambda x, s: F.instance_norm(x[0], weight=x[1], bias=x[2], eps=s["epsilon"])


@call("batch_norm")
def batch_norm(x, s):
    out = F.batch_norm(*x, training=s["training"], momentum=s["momentum"], eps=s["epsilon"])
    return [out] + [x[i].clone() for i in (1, 2) if x[i] is not None]


CALLS["dropout"] = lambda x, s: F.dropout(x[0], s["p"], s["training"])


# Windows.
def per_dimension(s, name, default, count):
    return [s.get(f"{name}_{dim}", default) for dim in "dhw"[3 - count:]]


def kernel_of(s, count):
    return s["kernel"][-count:]


def stride_of(s, count):
    return [stride or size for stride, size in zip(per_dimension(s, "stride", 0, count), kernel_of(s, count))]


def enter_windows(count):
    suffix = f"{count}d"

    def max_pool(x, s):
        return getattr(F, "max_pool" + suffix)(x[0], kernel_of(s, count), stride_of(s, count),
                                               per_dimension(s, "padding", 0, count),
                                               per_dimension(s, "dilation", 1, count), bool(s.get("ceil_mode", False)))

    def avg_pool(x, s):
        return getattr(F, "avg_pool" + suffix)(x[0], kernel_of(s, count), stride_of(s, count),
                                               per_dimension(s, "padding", 0, count), bool(s.get("ceil_mode", False)),
                                               bool(s.get("count_include_pad", True)))

    def conv(x, s):
        return getattr(F, "conv" + suffix)(x[0], x[1], x[2], per_dimension(s, "stride", 1, count),
                                           per_dimension(s, "padding", 0, count),
                                           per_dimension(s, "dilation", 1, count), s.get("groups", 1))

    def conv_transpose(x, s):
        return getattr(F, "conv_transpose" + suffix)(
            x[0], x[1], x[2], per_dimension(s, "stride", 1, count), per_dimension(s, "padding", 0, count),
            per_dimension(s, "output_padding", 0, count), s.get("groups", 1), per_dimension(s, "dilation", 1, count))

    for function in (max_pool, avg_pool, conv, conv_transpose):
        CALLS[function.__name__ + suffix] = function
    for kind in ("avg", "max"):
        function = getattr(F, f"adaptive_{kind}_pool{suffix}")
        CALLS[f"adaptive_{kind}_pool{suffix}"] = (lambda f: lambda x, s: f(x[0], s["result"][-count:]))(function)


for dimensions in (1, 2, 3):
    enter_windows(dimensions)


def folding(s):
    return [s["kernel"], *(per_dimension(s, name, default, 2)
                           for name, default in (("dilation", 1), ("padding", 0), ("stride", 1)))]


CALLS["unfold"] = lambda x, s: F.unfold(x[0], *folding(s))
CALLS["fold"] = lambda x, s: F.fold(x[0], s["result"], *folding(s))


def interpolate(mode):
    corners = {} if mode == "nearest" else {"align_corners": False}
    return lambda x, s: F.interpolate(x[0], size=s["result"], mode=mode,
                                      **{name: s.get(name, default) for name, default in corners.items()})


CALLS["upsample_nearest1d"] = CALLS["upsample_nearest2d"] = interpolate("nearest")
CALLS["upsample_linear1d"] = interpolate("linear")
CALLS["upsample_bilinear2d"] = interpolate("bilinear")
CALLS["upsample_bicubic2d"] = interpolate("bicubic")
CALLS["grid_sample"] = lambda x, s: F.grid_sample(*x, mode=s["mode"], padding_mode=s["padding_mode"],
                                                  align_corners=s.get("align_corners", False))


# Tables of dtypes: the result dtype of a binary operation for each pair, with elements of 1; "error" if it raises.
def dtype_of(function):
    try:
        return NAMES[function().dtype]
    except (RuntimeError, TypeError, KeyError):
        return "error"


@call("dtype_table")
def dtype_table(x, s):

    def one(name, ndim):
        return torch.ones([1] * ndim, dtype=DTYPES[name])

    def pair(a, b):
        inputs = [one(a, s["ndims"][0]), one(b, s["ndims"][1])]
        if s["of"] == "where":
            inputs.insert(0, torch.ones([], dtype=torch.bool))
        return dtype_of(lambda: CALLS[s["of"]](inputs, {}))

    return {"table": [[pair(a, b) for b in s["dtypes"]] for a in s["dtypes"]]}


@call("promote_table")
def promote_table(x, s):

    def promote(a, b):
        try:
            return NAMES[torch.promote_types(DTYPES[a], DTYPES[b])]
        except RuntimeError:
            return "error"

    return {"table": [[promote(a, b) for b in s["dtypes"]] for a in s["dtypes"]]}


@call("dtype_table_of_one")
def dtype_table_of_one(x, s):
    return {"table": [[dtype_of(lambda: CALLS[of]([torch.ones([1], dtype=DTYPES[dtype])], s["settings"][of]))
                       for dtype in s["dtypes"]] for of in s["of"]]}
