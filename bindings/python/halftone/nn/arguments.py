"""Checks of the arguments of layers and functions."""


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


def padding_of(kind, padding, given, count):
    """The padding of a convolution: numbers, "valid" or "same"."""
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
