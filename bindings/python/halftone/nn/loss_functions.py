"""Losses with PyTorch's names and arguments."""

from .. import halftone as _generated
from ..buffers import tensor
from ..checks import integers, number
from ..creation import full_like
from ..enums import Dtype
from ..halftone import Tensor

REDUCTIONS = {"none": lambda loss: loss, "mean": _generated.mean, "sum": _generated.sum}


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
    return _generated.huber_loss(input, target, delta, reduction)


def kl_div(input, target, reduction="mean", log_target=False):
    """The divergence of log probabilities from a target; reduction "batchmean" divides the sum by the batch."""
    return _generated.kl_div(input, target, log_target, "batch_mean" if reduction == "batchmean" else reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    """The cross entropy of logits and probabilities of two classes."""
    if weight is None:
        return _generated.bce_with_logits(input, target, pos_weight, reduction)
    return _reduced(_generated.bce_with_logits(input, target, pos_weight, "none") * weight, reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """The cross entropy of probabilities, whose logarithms are at least -100."""
    return _generated.bce_loss(input, target, weight, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log likelihood of targets under normal distributions. var is a tensor of variances, or one number
    for all of them; full adds the constant.
    """
    plain = number(var)
    variance = var if plain is None else full_like(input, plain)
    return _generated.gaussian_nll_loss(input, target, variance, full, eps, reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """max(0, margin - target (input1 - input2)); a target is 1 or -1."""
    return _generated.margin_ranking_loss(input1, input2, target, margin, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """1 - cosine of the rows for a target of 1, and max(0, cosine - margin) for one of -1."""
    return _generated.cosine_embedding_loss(input1, input2, target, margin, reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for the distance d of rows."""
    return _generated.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


def _lengths(argument, given, device):
    """A tensor of lengths, of a tensor, an int or a sequence of ints."""
    if isinstance(given, Tensor):
        return given
    found = integers("ctc_loss", argument, given)
    return tensor(found if hasattr(given, "__iter__") else found[0], Dtype.I64, device)


def _rows_of_targets(targets, lengths):
    """Targets that are one after the other, as rows with zeros behind them. Waits for the lengths."""
    counts = lengths.tolist()
    if sum(counts) != targets.shape[0]:
        raise ValueError(f"ctc_loss: targets has {targets.shape[0]} elements, but target_lengths add up to "
                         f"{sum(counts)}")
    width = max(counts, default=0)
    parts = _generated.split(targets, 0, counts)
    return _generated.stack([_generated.pad(part, [0, width - count]) for part, count in zip(parts, counts)], 0)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The connectionist temporal classification loss of log probabilities [time, batch, classes] and targets [batch,
    length], or all targets one after the other. Lengths are tensors or sequences of ints.
    """
    inputs = _lengths("input_lengths", input_lengths, log_probs.device)
    lengths = _lengths("target_lengths", target_lengths, log_probs.device)
    if len(log_probs.shape) == 3 and len(targets.shape) == 1:
        targets = _rows_of_targets(targets, lengths)
    return _generated.ctc_loss(log_probs, targets, inputs, lengths, blank, reduction, zero_infinity)


def _reduced(loss, reduction):
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', got {reduction!r}")
    return REDUCTIONS[reduction](loss)


__all__ = [name for name, value in globals().items()
           if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("_")]
