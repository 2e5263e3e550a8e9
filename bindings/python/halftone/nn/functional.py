"""Operations of networks with PyTorch's names and arguments."""

from .. import halftone as _generated
from .arguments import refuse, sizes

elu = _generated.elu
leaky_relu = _generated.leaky_relu
linear = _generated.linear
sigmoid = _generated.sigmoid
silu = _generated.silu
tanh = _generated.tanh


def relu(input, inplace=False):
    """max(x, 0). The result is always a new tensor."""
    return _generated.relu(input)


def gelu(input, approximate="none"):
    """x times the normal distribution at x; approximate="tanh" is the form with tanh."""
    forms = {"none": "erf", "tanh": "tanh"}
    if approximate not in forms:
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return _generated.gelu(input, forms[approximate])


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta x)) / beta."""
    return _generated.softplus(input) if beta == 1.0 else _generated.softplus(input * beta) / beta


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return _generated.clamp(input, 0.0, 6.0)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x, bounded to [min_val, max_val]."""
    return _generated.clamp(input, min_val, max_val)


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    return _generated.clamp(input + 3.0, 0.0, 6.0) / 6.0


def hardswish(input, inplace=False):
    """x times its hardsigmoid."""
    return input * hardsigmoid(input)


def mish(input, inplace=False):
    """x tanh(softplus(x))."""
    return input * _generated.tanh(_generated.softplus(input))


def logsigmoid(input):
    """log(sigmoid(x))."""
    return -_generated.softplus(-input)


def softmax(input, dim=-1, dtype=None):
    """exp(x) over its sum along a dimension."""
    return _generated.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input, dim=-1, dtype=None):
    """The logarithm of softmax."""
    return _generated.log_softmax(input if dtype is None else input.to(dtype), dim)


def dropout(input, p=0.5, training=True, inplace=False):
    """In training, zeroes elements with probability p and scales the others."""
    return _generated.dropout(input, p, training)


def one_hot(tensor, num_classes=-1):
    """Rows with one 1 each, at the index; -1 classes means as many as the largest index needs."""
    return _generated.one_hot(tensor, int(_generated.amax(tensor).item()) + 1 if num_classes < 0 else num_classes)


def embedding(input, weight, padding_idx=None):
    """The rows of a table."""
    return _generated.embedding(weight, input, -1 if padding_idx is None else padding_idx % weight.shape[0])


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalisation over the last dimensions."""
    return _generated.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Division by the root of the mean square over the last dimensions. eps=None is 2^-23."""
    return _generated.rms_norm(input, normalized_shape, weight, 2.0**-23 if eps is None else eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalisation over groups of channels."""
    return _generated.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Batch normalisation; in training it updates the running statistics."""
    return _generated.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x over its norm along a dimension, which is at least eps."""
    norm = _generated.vector_norm(input, p, [dim], True)
    return input / _generated.clamp(norm, eps, float("inf"))


def _window(kind, dims, **given):
    axes = "dhw"[-dims:]
    return {f"{name}_{axis}": size for name, value in given.items() if value is not None
            for axis, size in zip(axes, sizes(kind, name, value, dims))}


def _convolution(name, dims, transposes=False):
    function = getattr(_generated, name)

    def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return function(input, weight, bias, **_window(name, dims, stride=stride, padding=padding, dilation=dilation),
                        groups=groups)

    def transpose(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return function(input, weight, bias, **_window(name, dims, stride=stride, padding=padding, dilation=dilation,
                                                       output_padding=output_padding), groups=groups)

    made = transpose if transposes else convolve
    made.__name__, made.__doc__ = name, function.__doc__
    return made


conv1d = _convolution("conv1d", 1)
conv2d = _convolution("conv2d", 2)
conv3d = _convolution("conv3d", 3)
conv_transpose1d = _convolution("conv_transpose1d", 1, True)
conv_transpose2d = _convolution("conv_transpose2d", 2, True)


def _max_pool(name, dims):
    function = getattr(_generated, name)

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        refuse(name, return_indices=(return_indices, False))
        return function(input, **_window(name, dims, kernel=kernel_size, stride=stride, padding=padding,
                                         dilation=dilation), ceil_mode=ceil_mode)

    pool.__name__, pool.__doc__ = name, function.__doc__
    return pool


def _avg_pool(name, dims):
    function = getattr(_generated, name)

    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        return function(input, **_window(name, dims, kernel=kernel_size, stride=stride, padding=padding),
                        ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    pool.__name__, pool.__doc__ = name, function.__doc__
    return pool


def _adaptive_pool(name, dims):
    function = getattr(_generated, name)

    def pool(input, output_size):
        return function(input, *sizes(name, "output_size", output_size, dims))

    pool.__name__, pool.__doc__ = name, function.__doc__
    return pool


max_pool1d = _max_pool("max_pool1d", 1)
max_pool2d = _max_pool("max_pool2d", 2)
avg_pool1d = _avg_pool("avg_pool1d", 1)
avg_pool2d = _avg_pool("avg_pool2d", 2)
adaptive_avg_pool1d = _adaptive_pool("adaptive_avg_pool1d", 1)
adaptive_avg_pool2d = _adaptive_pool("adaptive_avg_pool2d", 2)
adaptive_max_pool1d = _adaptive_pool("adaptive_max_pool1d", 1)
adaptive_max_pool2d = _adaptive_pool("adaptive_max_pool2d", 2)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Resampling of [batch, channels, width] or [batch, channels, height, width]: nearest, linear or bilinear."""
    dims = len(input.shape) - 2
    known = {("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
             ("linear", 1): "upsample_linear1d", ("bilinear", 2): "upsample_bilinear2d"}
    if (mode, dims) not in known:
        raise NotImplementedError(f"interpolate: mode={mode!r} of {len(input.shape)} dimensions is not supported")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is None:
        factors = sizes("interpolate", "scale_factor", scale_factor, dims)
        size = [int(length * factor) for length, factor in zip(input.shape[2:], factors)]
    given = sizes("interpolate", "size", size, dims)
    more = {} if mode == "nearest" else {"align_corners": bool(align_corners)}
    return getattr(_generated, known[mode, dims])(input, *given, **more)


def pad(input, pad, mode="constant", value=0.0):
    """Adds elements at the ends of the last dimensions: pairs of before and after, from the last dimension on."""
    refuse("pad", mode=(mode, "constant"))
    return _generated.pad(input, list(pad), value)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """softmax(Q K^T scale + mask) V; scale=None is 1 / sqrt(width)."""
    return _generated.scaled_dot_product_attention(query, key, value, attn_mask, is_causal, dropout=dropout_p,
                                                   scale=0.0 if scale is None else scale)


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The cross entropy of logits [batch, classes, ...] and class numbers [batch, ...]."""
    return _generated.cross_entropy(input, target, reduction, ignore_index, label_smoothing, weight)


def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    """The negative log likelihood of class numbers."""
    return _generated.nll_loss(input, target, weight, ignore_index, reduction)


def mse_loss(input, target, reduction="mean"):
    """The mean square of the difference."""
    return _generated.mse_loss(input, target, reduction)


def l1_loss(input, target, reduction="mean"):
    """The mean magnitude of the difference."""
    return _generated.l1_loss(input, target, reduction)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    """Squares near 0 and magnitudes beyond beta."""
    return _generated.smooth_l1_loss(input, target, beta, reduction)


def huber_loss(input, target, reduction="mean", delta=1.0):
    """Half of the square near 0, and delta times the magnitude beyond delta."""
    return _generated.smooth_l1_loss(input, target, delta, reduction) * delta


_REDUCTIONS = {"none": lambda loss: loss, "mean": _generated.mean, "sum": _generated.sum}


def kl_div(input, target, reduction="mean", log_target=False):
    """The divergence of log probabilities from a target; reduction "batchmean" divides the sum by the batch."""
    if reduction == "batchmean":
        return _generated.kl_div(input, target, log_target, "sum") / input.shape[0]
    return _generated.kl_div(input, target, log_target, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    """The cross entropy of logits and probabilities of two classes."""
    if weight is None:
        return _generated.bce_with_logits(input, target, pos_weight, reduction)
    return _reduced(_generated.bce_with_logits(input, target, pos_weight, "none") * weight, reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """The cross entropy of probabilities, whose logarithms are at least -100."""
    least = -100.0
    loss = -(target * _generated.clamp(_generated.log(input), least, 0.0)
             + (1.0 - target) * _generated.clamp(_generated.log(1.0 - input), least, 0.0))
    return _reduced(loss if weight is None else loss * weight, reduction)


def _reduced(loss, reduction):
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', got {reduction!r}")
    return _REDUCTIONS[reduction](loss)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle along a dimension."""
    norms = [_generated.clamp(_generated.vector_norm(x, 2.0, [dim], False), eps, float("inf")) for x in (x1, x2)]
    return _generated.sum(x1 * x2, [dim]) / (norms[0] * norms[1])


__all__ = sorted(name for name, value in globals().items()
                 if callable(value) and not name.startswith("_") and value not in (refuse, sizes))
