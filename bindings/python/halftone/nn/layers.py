"""Layers of the library as classes, with PyTorch's names and arguments: a table, and the functions that make them."""

from typing import Optional, Sequence, Union

from ..enums import Dtype
from ..halftone import Device, Module
from .arguments import padding_of, refuse, sizes
from .layer import PADDING_MODES, Row, class_of
from .parameter import Parameter, handle_of
from .parts import parts

_Sizes = Union[int, Sequence[int]]
_Place = Union[Device, str, None]
_Kind = Union[Dtype, str, int, None]


def _linear(row, in_features: int, out_features: int, bias: bool = True, device: _Place = None, dtype: _Kind = None):
    return row.create_module(device, in_features, out_features, bias=bias, dtype=dtype)


def _along(row, given, kernel):
    """_Sizes along the axes, as the library's arguments: kernel_h, stride_w."""
    axes = "dhw"[-row.dims:]
    return {f"{'kernel' if name == kernel else name}_{axis}": size
            for name, each in given.items() for axis, size in zip(axes, each)}


def _convolution(row, given, padding, in_channels, out_channels, groups, bias, padding_mode, device, dtype):
    given = {name: sizes(row.name, name, value, row.dims) for name, value in given.items()}
    given["padding"] = padding_of(row.name, padding, given, row.dims)
    of_library = given if padding_mode == "zeros" else {**given, "padding": (0,) * row.dims}
    made = row.create_module(device, in_channels, out_channels, **_along(row, of_library, "kernel_size"),
                             groups=groups, bias=bias, dtype=dtype)
    return made, given


def _conv(row, in_channels: int, out_channels: int, kernel_size: _Sizes, stride: _Sizes = 1,
          padding: Union[_Sizes, str] = 0, dilation: _Sizes = 1, groups: int = 1, bias: bool = True,
          padding_mode: str = "zeros", device: _Place = None, dtype: _Kind = None):
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"{row.name}: padding_mode must be one of {PADDING_MODES}, got {padding_mode!r}")
    given = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
    return _convolution(row, given, padding, in_channels, out_channels, groups, bias, padding_mode, device, dtype)


def _conv_transpose(row, in_channels: int, out_channels: int, kernel_size: _Sizes, stride: _Sizes = 1,
                    padding: _Sizes = 0, output_padding: _Sizes = 0, groups: int = 1, bias: bool = True,
                    dilation: _Sizes = 1, padding_mode: str = "zeros", device: _Place = None, dtype: _Kind = None):
    refuse(row.name, padding_mode=(padding_mode, "zeros"))
    if isinstance(padding, str):
        raise ValueError(f"{row.name}: padding must be a number, got {padding!r}")
    given = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation, "output_padding": output_padding}
    return _convolution(row, given, padding, in_channels, out_channels, groups, bias, padding_mode, device, dtype)


def _batch_norm(row, num_features: int, eps: float = 1e-5, momentum: Optional[float] = 0.1, affine: bool = True,
                track_running_stats: bool = True, device: _Place = None, dtype: _Kind = None):
    return row.create_module(device, num_features, affine=affine, track_running_stats=track_running_stats,
                             cumulative=momentum is None, epsilon=eps, momentum=0.1 if momentum is None else momentum,
                             dtype=dtype)


def _instance_norm(row, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                   track_running_stats: bool = False, device: _Place = None, dtype: _Kind = None):
    refuse(row.name, track_running_stats=(track_running_stats, False))
    return row.create_module(device, num_features, affine=affine, bias=affine, epsilon=eps, dtype=dtype)


def _shape(normalized_shape):
    return tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)


def _layer_norm(row, normalized_shape: _Sizes, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                device: _Place = None, dtype: _Kind = None):
    shape = _shape(normalized_shape)
    made = row.create_module(device, shape, affine=elementwise_affine, bias=bias, epsilon=eps, dtype=dtype)
    return made, {"normalized_shape": shape}


def _rms_norm(row, normalized_shape: _Sizes, eps: Optional[float] = None, elementwise_affine: bool = True,
              device: _Place = None, dtype: _Kind = None):
    shape = _shape(normalized_shape)
    made = row.create_module(device, shape, affine=elementwise_affine, bias=False,
                             epsilon=2.0**-23 if eps is None else eps, dtype=dtype)
    return made, {"normalized_shape": shape}


def _group_norm(row, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: _Place = None,
                dtype: _Kind = None):
    return row.create_module(device, num_groups, num_channels, affine=affine, bias=affine, epsilon=eps, dtype=dtype)


def _embedding(row, num_embeddings: int, embedding_dim: int, padding_idx: Optional[int] = None,
               max_norm: Optional[float] = None, device: _Place = None, dtype: _Kind = None):
    refuse(row.name, max_norm=(max_norm, None))
    if padding_idx is not None and padding_idx < 0:
        padding_idx += num_embeddings
    settings = {} if padding_idx is None else {"padding_index": padding_idx}
    made = row.create_module(device, num_embeddings, embedding_dim, **settings, dtype=dtype)
    return made, {"padding_idx": padding_idx}


def _dropout(row, p: float = 0.5, inplace: bool = False):
    return row.create_module(p)


def _activation(row):
    return row.create_module()


def _activation_in_place(row, inplace: bool = False):
    return row.create_module()


def _gelu(row, approximate: str = "none"):
    forms = {"none": "erf", "tanh": "tanh"}
    if approximate not in forms:
        raise ValueError(f"GELU: approximate must be 'none' or 'tanh', got {approximate!r}")
    return row.create_module(forms[approximate])


def _rescaling(row, scale: float, offset: float):
    return row.create_module(scale, offset)


def _pool(row, given, **settings):
    given = {name: sizes(row.name, name, value, row.dims) for name, value in given.items() if value is not None}
    return row.create_module(**_along(row, given, "kernel_size"), **settings)


def _max_pool(row, kernel_size: _Sizes, stride: Optional[_Sizes] = None, padding: _Sizes = 0, dilation: _Sizes = 1,
              return_indices: bool = False, ceil_mode: bool = False):
    refuse(row.name, return_indices=(return_indices, False))
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    return _pool(row, given, ceil_mode=ceil_mode), {"stride": kernel_size if stride is None else stride}


def _avg_pool(row, kernel_size: _Sizes, stride: Optional[_Sizes] = None, padding: _Sizes = 0, ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: Optional[int] = None):
    refuse(row.name, divisor_override=(divisor_override, None))
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
    made = _pool(row, given, ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    return made, {"stride": kernel_size if stride is None else stride}


def _adaptive_pool(row, output_size: _Sizes):
    if output_size is None or isinstance(output_size, (tuple, list)) and None in output_size:
        raise NotImplementedError(f"{row.name}: None in output_size, the size of the input, is not supported")
    return row.create_module(*sizes(row.name, "output_size", output_size, row.dims))


def _recurrent(row, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
               batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: _Place = None,
               dtype: _Kind = None):
    return row.create_module(device, input_size, hidden_size, bias=bias, num_layers=num_layers,
                             bidirectional=bidirectional, dropout=dropout, dtype=dtype)


def _of_the_library(row, **settings):
    return row.create_module(**settings)


_CONV = ("in_channels, out_channels, kernel_size=, stride=, padding?, dilation?, output_padding?, groups?, bias?, "
         "padding_mode?")
_BATCH = "num_features, eps=, momentum=, affine=, track_running_stats="
_MAX = "kernel_size=, stride=, padding=, dilation=, ceil_mode="
_AVG = "kernel_size=, stride=, padding="
_TIME = "input_size, hidden_size, num_layers?, bias?, batch_first?, dropout?, bidirectional?"
_WIDTH, _HEIGHT = "[batch, channels, width]", "[batch, channels, height, width]"
_VOLUME = "[batch, channels, depth, height, width]"

LAYERS = (
    Row("Linear", "linear", _linear, "y = x W^T + b, with weight [out_features, in_features].",
        "in_features=, out_features=, bias="),
    Row("Conv1d", "conv1d", _conv, f"A convolution over {_WIDTH}.", _CONV, 1),
    Row("Conv2d", "conv2d", _conv, f"A convolution over {_HEIGHT}.", _CONV, 2),
    Row("Conv3d", "conv3d", _conv, f"A convolution over {_VOLUME}.", _CONV, 3),
    Row("ConvTranspose1d", "conv_transpose1d", _conv_transpose, f"The transpose of a convolution over {_WIDTH}.",
        _CONV, 1),
    Row("ConvTranspose2d", "conv_transpose2d", _conv_transpose, f"The transpose of a convolution over {_HEIGHT}.",
        _CONV, 2),
    Row("ConvTranspose3d", "conv_transpose3d", _conv_transpose, f"The transpose of a convolution over {_VOLUME}.",
        _CONV, 3),
    Row("BatchNorm1d", "batch_norm1d", _batch_norm, f"Batch normalisation of [batch, channels] or {_WIDTH}.", _BATCH),
    Row("BatchNorm2d", "batch_norm2d", _batch_norm, f"Batch normalisation of {_HEIGHT}.", _BATCH),
    Row("LayerNorm", "layer_norm", _layer_norm, "Normalisation over the last dimensions.",
        "normalized_shape, eps=, elementwise_affine="),
    Row("RMSNorm", "rms_norm", _rms_norm,
        "Division by the root of the mean square over the last dimensions. eps=None is 2^-23, PyTorch's value for f32.",
        "normalized_shape, eps=, elementwise_affine="),
    Row("GroupNorm", "group_norm", _group_norm, "Normalisation over groups of channels.",
        "num_groups, num_channels, eps=, affine="),
    Row("InstanceNorm2d", "instance_norm", _instance_norm,
        "Normalisation of each channel of each sample. It keeps no running statistics.",
        "num_features, eps=, momentum=, affine=, track_running_stats="),
    Row("InstanceNorm1d", "instance_norm", _instance_norm, f"Normalisation of each channel of each sample, {_WIDTH}.",
        "num_features, eps=, momentum=, affine=, track_running_stats="),
    Row("Embedding", "embedding", _embedding, "A table of vectors, looked up by index.",
        "num_embeddings, embedding_dim, padding_idx?"),
    Row("Dropout", "dropout", _dropout, "In training, zeroes elements with probability p and scales the others.",
        "p=, inplace="),
    Row("ReLU", "relu", _activation_in_place, "max(x, 0). The result is always a new tensor; `inplace` has no effect.",
        "inplace?"),
    Row("GELU", "gelu", _gelu, 'x times the normal distribution at x; approximate="tanh" is the form with tanh.',
        "approximate="),
    Row("SiLU", "silu", _activation_in_place, "x times its sigmoid.", "inplace?"),
    Row("Sigmoid", "sigmoid", _activation, "1 / (1 + exp(-x))."),
    Row("Tanh", "tanh", _activation, "The hyperbolic tangent."),
    Row("Rescaling", "rescaling", _rescaling, "x * scale + offset, for raw data: 1/255 and 0 map bytes to [0, 1].",
        "scale=, offset="),
    Row("MaxPool1d", "max_pool1d", _max_pool, f"The largest element of each window of {_WIDTH}.", _MAX, 1),
    Row("MaxPool2d", "max_pool2d", _max_pool, f"The largest element of each window of {_HEIGHT}.", _MAX, 2),
    Row("MaxPool3d", "max_pool3d", _max_pool, f"The largest element of each window of {_VOLUME}.", _MAX, 3),
    Row("AvgPool1d", "avg_pool1d", _avg_pool, f"The mean of each window of {_WIDTH}.", _AVG, 1),
    Row("AvgPool2d", "avg_pool2d", _avg_pool, f"The mean of each window of {_HEIGHT}.", _AVG, 2),
    Row("AvgPool3d", "avg_pool3d", _avg_pool, f"The mean of each window of {_VOLUME}.", _AVG, 3),
    Row("AdaptiveAvgPool1d", "adaptive_avg_pool1d", _adaptive_pool, "Means of windows, so that the result has a width.",
        "output_size=", 1),
    Row("AdaptiveAvgPool2d", "adaptive_avg_pool2d", _adaptive_pool,
        "Means of windows, so that the result has a height and a width.", "output_size=", 2),
    Row("AdaptiveMaxPool1d", "adaptive_max_pool1d", _adaptive_pool,
        "Maxima of windows, so that the result has a width.", "output_size=", 1),
    Row("AdaptiveMaxPool2d", "adaptive_max_pool2d", _adaptive_pool,
        "Maxima of windows, so that the result has a height and a width.", "output_size=", 2),
    Row("LSTM", "lstm", _recurrent,
        "A recurrent network with cells. module(x, (h, c)) returns the output of each time, and the last h and c.",
        _TIME, states=2),
    Row("GRU", "gru", _recurrent,
        "A gated recurrent network. module(x, h) returns the output of each time, and the last h.", _TIME, states=1),
    Row("MultiheadAttention", "multihead_attention", _of_the_library,
        "Attention of a sequence to itself, with GPT-2's names of parameters."),
    Row("TransformerBlock", "transformer_block", _of_the_library,
        "A block of a transformer: attention and two linear layers, with norms and residuals."),
    Row("Transformer", "transformer", _of_the_library,
        "A language model such as GPT-2 or Llama: tokens to logits."),
)
globals().update({row.name: class_of(row, __name__) for row in LAYERS})


def TiedLinear(weight, bias=None):
    """A linear layer of parameters that other modules hold as well."""
    made = Linear.__new__(Linear)  # noqa: F821: of the table
    made._tie(weight, bias)
    return made


def _tie(self, weight, bias):
    made = Module.tied_linear(handle_of(weight), None if bias is None else handle_of(bias))
    self.__dict__.update(this=made.this, _is_tied=True)
    parts(self, "_parameters").update({name: item for name, item in (("weight", weight), ("bias", bias))
                                       if isinstance(item, Parameter)})


Linear._tie = _tie  # noqa: F821
__all__ = ["TiedLinear", *(row.name for row in LAYERS)]
