"""Sampling at the places of a grid, with PyTorch's names and arguments."""

from .. import halftone as _generated
from ..buffers import tensor
from ..creation import full


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images [batch, channels, height, width] or volumes at the places of a grid, of which -1 and 1 are the ends."""
    return _generated.grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def _steps(length, align_corners):
    """The coordinates of the elements along a dimension. -1 and 1 are their centres or their outer edges."""
    if align_corners and length > 1:
        return [2 * i / (length - 1) - 1 for i in range(length)]
    return [(2 * i + 1) / length - 1 for i in range(length)]


def affine_grid(theta, size, align_corners=None):
    """The grid of the matrices theta, [batch, 2, 3] for images or [batch, 3, 4] for volumes, and a result's size."""
    lengths = [int(length) for length in size[2:]]
    dims = len(lengths)
    if dims not in (2, 3) or list(theta.shape) != [size[0], dims, dims + 1]:
        raise ValueError(f"affine_grid: theta of shape {list(theta.shape)} does not fit size={list(size)}")
    parts = []
    for dim in reversed(range(dims)):
        steps = tensor(_steps(lengths[dim], align_corners), theta.dtype, theta.device)
        along = [length if axis == dim else 1 for axis, length in enumerate(lengths)]
        parts.append(_generated.broadcast_to(_generated.reshape(steps, along), lengths))
    parts.append(full(lengths, 1.0, dtype=theta.dtype, device=theta.device))
    places = _generated.reshape(_generated.stack(parts, -1), [1, -1, dims + 1])
    grid = _generated.matmul(places, _generated.transpose(theta, 1, 2))
    return _generated.reshape(grid, [size[0], *lengths, dims])


__all__ = ["affine_grid", "grid_sample"]
