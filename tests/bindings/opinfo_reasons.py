"""Why samples of opinfo.py are refused by the Python layer, or have other results than in PyTorch."""

# By operator: a part of the message, and why C cannot compute the sample either, or why it means something else here.
_INDICES = {"return_indices=True is not supported|takes 2 positional arguments but 3":
            "no operation of C returns the indices"}
_MODES = {"mode='[a-z-]+' of . dimensions is not supported": "no operation of C has the mode",
          "recompute_scale_factor": "C computes with the size of the result, which the factor gives"}
_BY_NAME = {"must be an int, got str '(same|valid)'": "paddings are numbers"}
_DIVISOR = {"divisor_override=-?. is not supported": "C has no divisor of one's own"}
REFUSED = {
    "einsum": {"takes one or two operands": "C multiplies two tensors"},
    "scatter": {"value must be whole": "a fraction would be dropped without a word"},
    "norm": {"p must be a number or 'fro', got str 'nuc'": "C has no singular values"},
    "nn.functional.adaptive_avg_pool2d": {"must be an int, got None": "sizes are numbers"},
    "nn.functional.adaptive_max_pool1d": _INDICES,
    "nn.functional.adaptive_max_pool2d": _INDICES,
    "nn.functional.avg_pool2d": _DIVISOR,
    "nn.functional.avg_pool3d": _DIVISOR,
    "nn.functional.conv1d": _BY_NAME,
    "nn.functional.conv2d": _BY_NAME,
    "nn.functional.conv3d": _BY_NAME,
    "nn.functional.embedding": {"max_norm|scale_grad_by_freq|sparse": "rarely used, and not in C"},
    "nn.functional.interpolate": _MODES,
    "nn.functional.max_pool1d": _INDICES,
    "nn.functional.max_pool2d": _INDICES,
    "nn.functional.max_pool3d": _INDICES,
    "nn.functional.scaled_dot_product_attention": {"enable_gqa": "the shapes show it"},
}
# By operator: rows of docs/pytorch.md, with a pattern of the results that they explain.
_LOSS = {"losses of 16 bits, reduced": r"^bfloat16: bfloat16 \[\] .* float32 \[\]"}
_ORDER = {"sort, argsort": "int64"}
# The values of both are the same.
_SELECTED = {"kthvalue, median of equal elements": r"^int64: \[(int64 \[.*?\] \[.*?\]), .* in PyTorch, \[\1, "}
DIFFERENT = {
    "argsort": _ORDER,
    "kthvalue": _SELECTED,
    "nn.functional.binary_cross_entropy": _LOSS,
    "nn.functional.binary_cross_entropy_with_logits": _LOSS,
    "nn.functional.cosine_embedding_loss": _LOSS,
    "nn.functional.cross_entropy": _LOSS,
    "nn.functional.gaussian_nll_loss": _LOSS,
    "nn.functional.huber_loss": _LOSS,
    "nn.functional.kl_div": _LOSS,
    "nn.functional.l1_loss": _LOSS,
    "nn.functional.margin_ranking_loss": _LOSS,
    "nn.functional.mse_loss": _LOSS,
    "nn.functional.nll_loss": _LOSS,
    "nn.functional.smooth_l1_loss": _LOSS,
    "nn.functional.softplus": {"silu, softplus, hardswish, mish, selu, log_sigmoid, logaddexp of integers": "^int64",
                               "softplus": "float"},
    "nn.functional.triplet_margin_loss": _LOSS,
    "sort": _ORDER,
    "topk": {"topk of equal elements": "int64", "topk that does not sort": "int64"},
}
# Faults that are known and not mended yet, with a pattern of the results. They are printed, and do not fail the test.
FAULTS = {}
# Their results are compared by dtype and shape.
RANDOM = {"empty", "empty_like", "multinomial", "new_empty", "nn.functional.dropout", "rand_like", "randint",
          "randint_like", "randn", "randn_like"}
