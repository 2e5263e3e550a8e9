"""Activations and losses as modules, over the operations of functional."""

from ..creation import full
from ..halftone import Module
from . import functional
from .constructors import add_constructor
from .loss_functions import REDUCTIONS
from .parameter import Parameter

REQUIRED = object()  # an argument without a default


def _module(name, operation, documentation, **settings):
    """A class whose forward is an operation with the settings of the constructor."""
    names = list(settings)

    def begin(self, values):
        if values.get("reduction", "mean") not in (*REDUCTIONS, "batchmean"):
            raise ValueError(f"{name}: reduction must be 'none', 'mean' or 'sum', got {values['reduction']!r}")
        Module.__init__(self)
        for key, value in values.items():
            if key in ("weight", "pos_weight"):
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def forward(self, *inputs):
        return operation(*inputs, **{key: getattr(self, key) for key in names})

    def extra_repr(self):
        return ", ".join(f"{key}={getattr(self, key)!r}" for key in names
                         if key not in ("weight", "pos_weight") and getattr(self, key) != settings[key])

    kind = type(name, (Module,), {"forward": forward, "extra_repr": extra_repr, "__doc__": documentation,
                                  "__module__": __name__})
    add_constructor(kind, lambda: _signature(settings), begin)
    return kind


def _signature(settings):
    from inspect import Parameter as Argument
    from inspect import Signature

    kind = Argument.POSITIONAL_OR_KEYWORD
    return Signature([Argument(key, kind, default=Argument.empty if value is REQUIRED else value)
                      for key, value in settings.items()])


_f = functional
Softmax = _module("Softmax", _f.softmax, "Softmax along a dimension.", dim=-1)
LogSoftmax = _module("LogSoftmax", _f.log_softmax, "The logarithm of softmax along a dimension.", dim=-1)
LeakyReLU = _module("LeakyReLU", lambda x, negative_slope, inplace: _f.leaky_relu(x, negative_slope),
                    "x, or negative_slope times x below 0.", negative_slope=0.01, inplace=False)
ELU = _module("ELU", lambda x, alpha, inplace: _f.elu(x, alpha), "x, or alpha (exp(x) - 1) below 0.", alpha=1.0,
              inplace=False)
Softplus = _module("Softplus", _f.softplus, "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
ReLU6 = _module("ReLU6", _f.relu6, "min(max(x, 0), 6).", inplace=False)
Hardtanh = _module("Hardtanh", _f.hardtanh, "x, bounded to [min_val, max_val].", min_val=-1.0, max_val=1.0,
                   inplace=False)
Hardsigmoid = _module("Hardsigmoid", _f.hardsigmoid, "min(max(x + 3, 0), 6) / 6.", inplace=False)
Hardswish = _module("Hardswish", _f.hardswish, "x times its hardsigmoid.", inplace=False)
Mish = _module("Mish", _f.mish, "x tanh(softplus(x)).", inplace=False)
SELU = _module("SELU", _f.selu, "1.0507 times the ELU of x with alpha = 1.6733.", inplace=False)
GLU = _module("GLU", _f.glu, "The first half along a dimension, times the sigmoid of the second half.", dim=-1)
LogSigmoid = _module("LogSigmoid", _f.logsigmoid, "log(sigmoid(x)).")
CosineSimilarity = _module("CosineSimilarity", _f.cosine_similarity, "The cosine of the angle.", dim=1, eps=1e-8)
PairwiseDistance = _module("PairwiseDistance", _f.pairwise_distance, "The norm of the difference of vectors.", p=2.0,
                           eps=1e-6, keepdim=False)
CrossEntropyLoss = _module("CrossEntropyLoss", _f.cross_entropy,
                           "The cross entropy of logits [batch, classes, ...] and class numbers.", weight=None,
                           ignore_index=-100, reduction="mean", label_smoothing=0.0)
NLLLoss = _module("NLLLoss", _f.nll_loss, "The negative log likelihood of class numbers.", weight=None,
                  ignore_index=-100, reduction="mean")
MSELoss = _module("MSELoss", _f.mse_loss, "The mean square of the difference.", reduction="mean")
L1Loss = _module("L1Loss", _f.l1_loss, "The mean magnitude of the difference.", reduction="mean")
SmoothL1Loss = _module("SmoothL1Loss", _f.smooth_l1_loss, "Squares near 0 and magnitudes beyond beta.",
                       reduction="mean", beta=1.0)
HuberLoss = _module("HuberLoss", _f.huber_loss, "Half squares near 0 and magnitudes beyond delta.", reduction="mean",
                    delta=1.0)
KLDivLoss = _module("KLDivLoss", _f.kl_div, "The divergence of log probabilities from a target.", reduction="mean",
                    log_target=False)
BCEWithLogitsLoss = _module("BCEWithLogitsLoss", _f.binary_cross_entropy_with_logits,
                            "The cross entropy of logits and probabilities.", weight=None, reduction="mean",
                            pos_weight=None)
BCELoss = _module("BCELoss", _f.binary_cross_entropy, "The cross entropy of probabilities.", weight=None,
                  reduction="mean")
GaussianNLLLoss = _module("GaussianNLLLoss", _f.gaussian_nll_loss,
                          "The negative log likelihood under normal distributions.", full=False, eps=1e-6,
                          reduction="mean")
MarginRankingLoss = _module("MarginRankingLoss", _f.margin_ranking_loss, "max(0, margin - target (x1 - x2)).",
                            margin=0.0, reduction="mean")
CosineEmbeddingLoss = _module("CosineEmbeddingLoss", _f.cosine_embedding_loss,
                              "Cosines that are 1 for a target of 1, and at most margin for one of -1.", margin=0.0,
                              reduction="mean")
TripletMarginLoss = _module("TripletMarginLoss", _f.triplet_margin_loss,
                            "The distance to a positive, less that to a negative, plus margin; at least 0.",
                            margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean")
CTCLoss = _module("CTCLoss", _f.ctc_loss, "The connectionist temporal classification loss.", blank=0,
                  reduction="mean", zero_infinity=False)
Upsample = _module("Upsample", _f.interpolate, "Resampling to a size or by a factor.", size=None, scale_factor=None,
                   mode="nearest", align_corners=None, recompute_scale_factor=None)
PixelShuffle = _module("PixelShuffle", _f.pixel_shuffle, "Moves channels into squares of the plane.",
                       upscale_factor=REQUIRED)
PixelUnshuffle = _module("PixelUnshuffle", _f.pixel_unshuffle, "Moves squares of the plane into channels.",
                         downscale_factor=REQUIRED)
Unfold = _module("Unfold", _f.unfold, "Copies each window of an image to a column.", kernel_size=REQUIRED, dilation=1,
                 padding=0, stride=1)
Fold = _module("Fold", _f.fold, "Adds the columns of Unfold up at their places in an image.", output_size=REQUIRED,
               kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
Flatten = _module("Flatten", lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim),
                  "Merges the dimensions from start_dim to end_dim.", start_dim=1, end_dim=-1)


class PReLU(Module):
    """x, or weight times x below 0; the weight is a parameter with one number, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(full(num_parameters, float(init), dtype=dtype, device=device))

    def forward(self, input):
        return _f.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Unflatten(Module):
    """Splits a dimension into several."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        dim = self.dim % len(input.shape)
        return input.reshape([*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1:]])


__all__ = [name for name, value in globals().items()
           if isinstance(value, type) and issubclass(value, Module) and value.__module__ == __name__]
