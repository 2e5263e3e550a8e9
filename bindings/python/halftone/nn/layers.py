"""Layers of the library as classes, with PyTorch's names and arguments."""

from .. import halftone as _generated
from ..buffers import default_device
from ..halftone import Device, Module, Tensor
from .kinds import KINDS
from .parts import parts, set_part
from .parameter import Parameter, handle_of

_c = _generated._halftone


def device_of(device):
    """The device of an argument: None is the default one, a string its name."""
    if device is None:
        return default_device()
    return Device(device) if isinstance(device, str) else device


def refuse(kind, **settings):
    """A setting of PyTorch that the library does not have must have the value that changes nothing."""
    for name, (given, usual) in settings.items():
        if given != usual:
            raise NotImplementedError(f"{kind}: {name}={given!r} is not supported, only {usual!r}")


def sizes(kind, name, value, count):
    """One number for every dimension, or one for each."""
    if isinstance(value, (tuple, list)):
        if len(value) == count:
            return tuple(value)
        raise ValueError(f"{kind}: {name} must be a number or {count} of them, got {value!r}")
    return (value,) * count


class Layer(Module):
    """A module that the library computes. A class that derives from one may have a forward of its own; super().forward
    is then that of the layer.
    """

    _states = 0  # tensors that a recurrent layer passes on

    def _make(self, layer, made, **settings):
        """Takes the module that the library has made. `layer` is the class whose forward it is."""
        if type(self).forward is layer.forward:
            self.__dict__["this"] = made.this
        else:
            Module.__init__(self)
            self.__dict__["_native"] = made
            for which in ("_parameters", "_buffers"):
                for name, part in parts(made, which).items():
                    set_part(self, which, name, part)
        self.__dict__["_settings"] = settings
        self.__dict__.update((name, value) for name, value in settings.items() if name != "bias")
        if "bias" in settings and not self._states:
            parts(self, "_parameters").setdefault("bias", None)

    def forward(self, *inputs, **settings):
        native = self.__dict__.get("_native")
        if native is None:
            return self._compute(*inputs, **settings)
        _c.Module_set_training(native, self.training)
        for name, parameter in parts(self, "_parameters").items():
            if parameter is not parts(native, "_parameters").get(name):
                setattr(native, name, parameter)
        return type(self)._compute(native, *inputs, **settings)


def _kind(name):
    """The class is that of the library's modules of a kind."""
    def add(kind):
        KINDS[name] = kind
        return kind

    return add


@_kind("linear")
class Linear(Layer):
    """y = x W^T + b, with weight [out_features, in_features]."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        made = Module.linear(device_of(device), in_features, out_features, bias=bias, dtype=dtype or "f32")
        self._make(Layer, made, in_features=in_features, out_features=out_features, bias=bias)

    def extra_repr(self):
        out, width = self.weight.shape
        return f"in_features={width}, out_features={out}, bias={self.bias is not None}"


def TiedLinear(weight, bias=None):
    """A linear layer of parameters that other modules hold as well."""
    made = Linear.__new__(Linear)
    made._make(Layer, Module.tied_linear(handle_of(weight), None if bias is None else handle_of(bias)))
    parts(made, "_parameters").update({name: item for name, item in (("weight", weight), ("bias", bias))
                                       if isinstance(item, Parameter)})
    return made


class _Conv(Layer):
    _dims, _create, _transposes = 2, None, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        self._build(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                    device, dtype)

    def _build(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
               device, dtype, **more):
        kind = type(self).__name__
        refuse(kind, padding_mode=(padding_mode, "zeros"))
        given = {name: sizes(kind, name, value, self._dims) for name, value in
                 {"kernel_size": kernel_size, "stride": stride, "dilation": dilation, **more}.items()}
        given["padding"] = _padding(kind, padding, given, self._dims)
        create = getattr(Module, self._create)
        axes = "dhw"[-self._dims:]
        kernel = {f"kernel_{axis}": size for axis, size in zip(axes, given["kernel_size"])}
        others = {f"{name}_{axis}": size for name, each in given.items() if name != "kernel_size"
                  for axis, size in zip(axes, each)}
        made = create(device_of(device), in_channels, out_channels, **kernel, **others, groups=groups, bias=bias,
                      dtype=dtype or "f32")
        self._make(Layer, made, in_channels=in_channels, out_channels=out_channels, **given, groups=groups, bias=bias,
                   padding_mode=padding_mode)

    def extra_repr(self):
        if "_settings" not in self.__dict__:
            return ""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": 0, "dilation": 1, "output_padding": 0}
        for name, value in usual.items():
            if any(size != value for size in self.__dict__.get(name, ())):
                text += f", {name}={getattr(self, name)}"
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")


def _padding(kind, padding, given, count):
    if padding == "valid":
        return (0,) * count
    if padding != "same":
        return sizes(kind, "padding", padding, count)
    if any(step != 1 for step in given["stride"]):
        raise ValueError(f"{kind}: padding='same' needs a stride of 1, got {given['stride']}")
    whole = [dilation * (kernel - 1) for dilation, kernel in zip(given["dilation"], given["kernel_size"])]
    if any(size % 2 for size in whole):
        raise NotImplementedError(f"{kind}: padding='same' needs kernels of odd size, got {given['kernel_size']}")
    return tuple(size // 2 for size in whole)


@_kind("conv1d")
class Conv1d(_Conv):
    """A convolution over [batch, channels, width]."""

    _dims, _create = 1, "conv1d"


@_kind("conv2d")
class Conv2d(_Conv):
    """A convolution over [batch, channels, height, width]."""

    _dims, _create = 2, "conv2d"


@_kind("conv3d")
class Conv3d(_Conv):
    """A convolution over [batch, channels, depth, height, width]."""

    _dims, _create = 3, "conv3d"


class _ConvTranspose(_Conv):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):
        if isinstance(padding, str):
            raise ValueError(f"{type(self).__name__}: padding must be a number, got {padding!r}")
        self._build(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                    device, dtype, output_padding=output_padding)


@_kind("conv_transpose1d")
class ConvTranspose1d(_ConvTranspose):
    """The transpose of a convolution over [batch, channels, width]."""

    _dims, _create = 1, "conv_transpose1d"


@_kind("conv_transpose2d")
class ConvTranspose2d(_ConvTranspose):
    """The transpose of a convolution over [batch, channels, height, width]."""

    _dims, _create = 2, "conv_transpose2d"


class _BatchNorm(Layer):
    _create = None

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None):
        made = getattr(Module, self._create)(
            device_of(device), num_features, affine=affine, track_running_stats=track_running_stats,
            cumulative=momentum is None, epsilon=eps, momentum=0.1 if momentum is None else momentum,
            dtype=dtype or "f32")
        self._make(Layer, made, num_features=num_features, eps=eps, momentum=momentum, affine=affine,
                   track_running_stats=track_running_stats)

    def extra_repr(self):
        text = Layer.extra_repr(self)
        return text.replace("num_features=", "", 1)


@_kind("batch_norm1d")
class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [batch, channels] or [batch, channels, width]."""

    _create = "batch_norm1d"


@_kind("batch_norm2d")
class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [batch, channels, height, width]."""

    _create = "batch_norm2d"


def _shape(normalized_shape):
    return tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)


@_kind("layer_norm")
class LayerNorm(Layer):
    """Normalisation over the last dimensions."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        shape = _shape(normalized_shape)
        made = Module.layer_norm(device_of(device), shape, affine=elementwise_affine, bias=bias, epsilon=eps,
                                 dtype=dtype or "f32")
        self._make(Layer, made, normalized_shape=shape, eps=eps, elementwise_affine=elementwise_affine, bias=bias)

    def extra_repr(self):
        settings = self.__dict__.get("_settings")
        return "" if settings is None else (f"{self.normalized_shape}, eps={self.eps}, "
                                            f"elementwise_affine={self.elementwise_affine}")


@_kind("rms_norm")
class RMSNorm(Layer):
    """Division by the root of the mean square over the last dimensions. eps=None is 2^-23, PyTorch's value for f32."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        shape = _shape(normalized_shape)
        made = Module.rms_norm(device_of(device), shape, affine=elementwise_affine, bias=False,
                               epsilon=2.0**-23 if eps is None else eps, dtype=dtype or "f32")
        self._make(Layer, made, normalized_shape=shape, eps=eps, elementwise_affine=elementwise_affine)

    extra_repr = LayerNorm.extra_repr


@_kind("group_norm")
class GroupNorm(Layer):
    """Normalisation over groups of channels."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        made = Module.group_norm(device_of(device), num_groups, num_channels, affine=affine, bias=affine, epsilon=eps,
                                 dtype=dtype or "f32")
        self._make(Layer, made, num_groups=num_groups, num_channels=num_channels, eps=eps, affine=affine)

    def extra_repr(self):
        settings = self.__dict__.get("_settings")
        return "" if settings is None else f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


@_kind("instance_norm")
class InstanceNorm2d(Layer):
    """Normalisation of each channel of each sample. It keeps no running statistics."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None):
        refuse(type(self).__name__, track_running_stats=(track_running_stats, False))
        made = Module.instance_norm(device_of(device), num_features, affine=affine, bias=affine, epsilon=eps,
                                    dtype=dtype or "f32")
        self._make(Layer, made, num_features=num_features, eps=eps, momentum=momentum, affine=affine)


class InstanceNorm1d(InstanceNorm2d):
    """Normalisation of each channel of each sample, [batch, channels, width]."""


@_kind("embedding")
class Embedding(Layer):
    """A table of vectors, looked up by index."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, device=None, dtype=None):
        refuse("Embedding", max_norm=(max_norm, None))
        if padding_idx is not None and padding_idx < 0:
            padding_idx += num_embeddings
        settings = {} if padding_idx is None else {"padding_index": padding_idx}
        made = Module.embedding(device_of(device), num_embeddings, embedding_dim, **settings, dtype=dtype or "f32")
        self._make(Layer, made, num_embeddings=num_embeddings, embedding_dim=embedding_dim, padding_idx=padding_idx)

    def extra_repr(self):
        count, width = self.weight.shape
        padding = self.__dict__.get("padding_idx")
        return f"{count}, {width}" + ("" if padding is None else f", padding_idx={padding}")


@_kind("dropout")
class Dropout(Layer):
    """In training, zeroes elements with probability p and scales the others."""

    def __init__(self, p=0.5, inplace=False):
        self._make(Layer, Module.dropout(p), p=p, inplace=inplace)


@_kind("relu")
class ReLU(Layer):
    """max(x, 0). The result is always a new tensor; `inplace` has no effect."""

    def __init__(self, inplace=False):
        self._make(Layer, Module.relu(), **({"inplace": True} if inplace else {}))


@_kind("gelu")
class GELU(Layer):
    """x times the normal distribution at x; approximate="tanh" is the form with tanh."""

    def __init__(self, approximate="none"):
        forms = {"none": "erf", "tanh": "tanh"}
        if approximate not in forms:
            raise ValueError(f"GELU: approximate must be 'none' or 'tanh', got {approximate!r}")
        self._make(Layer, Module.gelu(forms[approximate]), approximate=approximate)


@_kind("silu")
class SiLU(Layer):
    """x times its sigmoid."""

    def __init__(self, inplace=False):
        self._make(Layer, Module.silu())


@_kind("sigmoid")
class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def __init__(self):
        self._make(Layer, Module.sigmoid())


@_kind("tanh")
class Tanh(Layer):
    """The hyperbolic tangent."""

    def __init__(self):
        self._make(Layer, Module.tanh())


@_kind("rescaling")
class Rescaling(Layer):
    """x * scale + offset, for raw data: 1/255 and 0 map bytes to [0, 1]."""

    def __init__(self, scale, offset):
        self._make(Layer, Module.rescaling(scale, offset), scale=scale, offset=offset)


class _Pool(Layer):
    _dims, _create = 2, None

    def _build(self, kernel_size, stride, padding, settings, **shown):
        kind = type(self).__name__
        axes = "hw"[-self._dims:]
        given = {"kernel": sizes(kind, "kernel_size", kernel_size, self._dims),
                 "padding": sizes(kind, "padding", padding, self._dims)}
        if stride is not None:
            given["stride"] = sizes(kind, "stride", stride, self._dims)
        if "dilation" in shown:
            given["dilation"] = sizes(kind, "dilation", shown["dilation"], self._dims)
        each = {f"{name}_{axis}": size for name, all_sizes in given.items() for axis, size in zip(axes, all_sizes)}
        self._make(Layer, getattr(Module, self._create)(**each, **settings), kernel_size=kernel_size,
                   stride=kernel_size if stride is None else stride, padding=padding, **shown)


class _MaxPool(_Pool):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        refuse(type(self).__name__, return_indices=(return_indices, False))
        self._build(kernel_size, stride, padding, {"ceil_mode": ceil_mode}, dilation=dilation, ceil_mode=ceil_mode)


@_kind("max_pool1d")
class MaxPool1d(_MaxPool):
    """The largest element of each window of [batch, channels, width]."""

    _dims, _create = 1, "max_pool1d"


@_kind("max_pool2d")
class MaxPool2d(_MaxPool):
    """The largest element of each window of [batch, channels, height, width]."""

    _dims, _create = 2, "max_pool2d"


class _AvgPool(_Pool):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        refuse(type(self).__name__, divisor_override=(divisor_override, None))
        self._build(kernel_size, stride, padding, {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad})


@_kind("avg_pool1d")
class AvgPool1d(_AvgPool):
    """The mean of each window of [batch, channels, width]."""

    _dims, _create = 1, "avg_pool1d"


@_kind("avg_pool2d")
class AvgPool2d(_AvgPool):
    """The mean of each window of [batch, channels, height, width]."""

    _dims, _create = 2, "avg_pool2d"


class _AdaptivePool(Layer):
    _dims, _create = 2, None

    def __init__(self, output_size):
        kind = type(self).__name__
        each = sizes(kind, "output_size", output_size, self._dims)
        made = getattr(Module, self._create)(*each)
        self._make(Layer, made, output_size=output_size)


@_kind("adaptive_avg_pool1d")
class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of windows, so that the result has a width."""

    _dims, _create = 1, "adaptive_avg_pool1d"


@_kind("adaptive_avg_pool2d")
class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of windows, so that the result has a height and a width."""

    _dims, _create = 2, "adaptive_avg_pool2d"


@_kind("adaptive_max_pool1d")
class AdaptiveMaxPool1d(_AdaptivePool):
    """Maxima of windows, so that the result has a width."""

    _dims, _create = 1, "adaptive_max_pool1d"


@_kind("adaptive_max_pool2d")
class AdaptiveMaxPool2d(_AdaptivePool):
    """Maxima of windows, so that the result has a height and a width."""

    _dims, _create = 2, "adaptive_max_pool2d"


class _Recurrent(Layer):
    _create, _states = None, 1

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        made = getattr(Module, self._create)(device_of(device), input_size, hidden_size, bias=bias,
                                             num_layers=num_layers, bidirectional=bidirectional, dropout=dropout,
                                             dtype=dtype or "f32")
        self._make(Layer, made, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, bias=bias,
                   batch_first=batch_first, dropout=dropout, bidirectional=bidirectional)

    def _compute(self, input, hx=None, policy=None):
        states = () if hx is None else (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if states and len(states) != self._states:
            raise TypeError(f"{type(self).__name__}: hx must be {self._states} tensors, got {len(states)}")
        is_turned = not self.__dict__.get("batch_first", True)
        x = _generated.transpose(input, 0, 1) if is_turned else input
        output, *ends = _c.Module_forward_n(self, [x, *states], policy, 1 + self._states)
        output = _generated.transpose(output, 0, 1) if is_turned else output
        return output, (tuple(ends) if self._states > 1 else ends[0])

    def extra_repr(self):
        if "_settings" not in self.__dict__:
            return ""
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        shown = [f"{name}={self._settings[name]}" for name, value in usual.items() if self._settings[name] != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])


@_kind("lstm")
class LSTM(_Recurrent):
    """A recurrent network with cells. module(x, (h, c)) returns the output of each time, and the last h and c."""

    _create, _states = "lstm", 2


@_kind("gru")
class GRU(_Recurrent):
    """A gated recurrent network. module(x, h) returns the output of each time, and the last h."""

    _create, _states = "gru", 1


class _Named(Layer):
    """A module with the settings of the function that makes it."""

    _create = None

    def __init__(self, *arguments, device=None, **settings):
        made = getattr(Module, self._create)(device_of(device), *arguments, **settings)
        self._make(Layer, made)


@_kind("multihead_attention")
class MultiheadAttention(_Named):
    """Attention of a sequence to itself, with GPT-2's names of parameters."""

    _create = "multihead_attention"


@_kind("transformer_block")
class TransformerBlock(_Named):
    """A block of a transformer: attention and two linear layers, with norms and residuals."""

    _create = "transformer_block"


@_kind("transformer")
class Transformer(_Named):
    """A language model such as GPT-2 or Llama: tokens to logits."""

    _create = "transformer"


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d",
    "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "Dropout",
    "Embedding", "GELU", "GRU", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "LSTM", "LayerNorm", "Linear",
    "MaxPool1d", "MaxPool2d", "MultiheadAttention", "RMSNorm", "ReLU", "Rescaling", "SiLU", "Sigmoid", "Tanh",
    "TiedLinear", "Transformer", "TransformerBlock"]
