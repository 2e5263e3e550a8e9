"""Leaves of parameters, and when they are to be taken anew. Used by nn.parameter and by what moves weights."""

_moves = [0]


def weights_moved():
    """Every parameter takes its leaf anew: weights may have other memory, may be frozen or free now, or the scope in
    which the leaf was taken has ended.
    """
    _moves[0] += 1


def moves():
    """How often weights have moved."""
    return _moves[0]
