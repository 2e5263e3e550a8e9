"""Convolutions, pooling, windows, padding and resampling with PyTorch's names and arguments."""

from .. import halftone as _generated
from .arguments import refuse, sizes


def _window(kind, dims, **given):
    """The settings of C along each axis; a sequence of one number stands for all of them."""
    axes = "dhw"[-dims:]
    given = {name: value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value
             for name, value in given.items()}
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
conv_transpose3d = _convolution("conv_transpose3d", 3, True)


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

    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
             divisor_override=None):
        refuse(name, divisor_override=(divisor_override, None))
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
max_pool3d = _max_pool("max_pool3d", 3)
avg_pool1d = _avg_pool("avg_pool1d", 1)
avg_pool2d = _avg_pool("avg_pool2d", 2)
avg_pool3d = _avg_pool("avg_pool3d", 3)
adaptive_avg_pool1d = _adaptive_pool("adaptive_avg_pool1d", 1)
adaptive_avg_pool2d = _adaptive_pool("adaptive_avg_pool2d", 2)
adaptive_max_pool1d = _adaptive_pool("adaptive_max_pool1d", 1)
adaptive_max_pool2d = _adaptive_pool("adaptive_max_pool2d", 2)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Copies each window of [batch, channels, height, width] to a column."""
    return _generated.unfold(input, **_window("unfold", 2, kernel=kernel_size, dilation=dilation, padding=padding,
                                              stride=stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Adds the columns of unfold up at their places in images of a height and a width."""
    return _generated.fold(input, *sizes("fold", "output_size", output_size, 2),
                           **_window("fold", 2, kernel=kernel_size, dilation=dilation, padding=padding, stride=stride))


_RESAMPLED = {("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
              ("linear", 1): "upsample_linear1d", ("bilinear", 2): "upsample_bilinear2d",
              ("bicubic", 2): "upsample_bicubic2d"}


def _resampled_size(shape, scale_factor, keeps_factor):
    """The size by a factor. C computes places from the sizes, which give another factor if the size was rounded."""
    factors = sizes("interpolate", "scale_factor", scale_factor, len(shape))
    if keeps_factor and any(length * factor != int(length * factor) for length, factor in zip(shape, factors)):
        raise NotImplementedError(f"interpolate: scale_factor={scale_factor!r} gives no whole size from {shape}; set "
                                  "recompute_scale_factor=True to compute places from the rounded size")
    return [int(length * factor) for length, factor in zip(shape, factors)]


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    """Resampling of [batch, channels, width] or [batch, channels, height, width]: nearest, linear, bilinear or
    bicubic.
    """
    dims = len(input.shape) - 2
    refuse("interpolate", antialias=(antialias, False))
    if (mode, dims) not in _RESAMPLED:
        raise NotImplementedError(f"interpolate: mode={mode!r} of {len(input.shape)} dimensions is not supported")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is None:
        size = _resampled_size(input.shape[2:], scale_factor, not (recompute_scale_factor or align_corners))
    given = sizes("interpolate", "size", size, dims)
    more = {} if mode == "nearest" else {"align_corners": bool(align_corners)}
    return getattr(_generated, _RESAMPLED[mode, dims])(input, *given, **more)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Resampling, as interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


_PADDED = {mode: getattr(_generated, f"pad_{mode}") for mode in ("reflect", "replicate", "circular")}


def pad(input, pad, mode="constant", value=None):
    """Adds elements at the ends of the last dimensions: pairs of before and after, from the last dimension on. mode:
    "constant" for one value, "reflect", "replicate" or "circular".
    """
    if mode == "constant":
        return _generated.pad(input, list(pad), 0.0 if value is None else value)
    if mode not in _PADDED:
        raise ValueError(f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got {mode!r}")
    if value not in (None, 0):
        raise ValueError(f"pad: value must be None for mode={mode!r}, got {value!r}")
    return _PADDED[mode](input, list(pad))


__all__ = [name for name, value in globals().items()
           if callable(value) and not name.startswith("_") and value not in (refuse, sizes)]
