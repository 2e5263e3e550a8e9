"""Operations of networks with PyTorch's names and arguments."""

from .. import halftone as _generated
from .grid_functions import *  # noqa: F403
from .grid_functions import __all__ as _grids
from .image_functions import *  # noqa: F403
from .image_functions import __all__ as _images
from .loss_functions import *  # noqa: F403
from .loss_functions import __all__ as _losses

elu = _generated.elu
glu = _generated.glu
leaky_relu = _generated.leaky_relu
linear = _generated.linear
logsigmoid = _generated.log_sigmoid
pixel_shuffle = _generated.pixel_shuffle
pixel_unshuffle = _generated.pixel_unshuffle
prelu = _generated.prelu
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
    return _generated.hardswish(input)


def mish(input, inplace=False):
    """x tanh(softplus(x))."""
    return _generated.mish(input)


def selu(input, inplace=False):
    """1.0507 times the elu of x with alpha = 1.6733."""
    return _generated.selu(input)


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
    return _generated.normalize(input, p, dim, eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle along a dimension of the shape to which both broadcast."""
    return _generated.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps along the last dimension."""
    return _generated.pairwise_distance(x1, x2, p, eps, keepdim)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """softmax(Q K^T scale + mask) V; scale=None is 1 / sqrt(width)."""
    return _generated.scaled_dot_product_attention(query, key, value, attn_mask, is_causal, dropout=dropout_p,
                                                   scale=0.0 if scale is None else scale)


__all__ = sorted({name for name, value in globals().items()
                  if callable(value) and not name.startswith("_")} | set(_grids) | set(_images) | set(_losses))
