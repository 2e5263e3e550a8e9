"""The names and defaults that the C API cannot tell: where a language's idiom differs from the C name.

Everything else is derived from the description of the C API.
"""

# Class names of handles, enumerations and structures are the C name in CamelCase, but for these.
TYPES = {"htone_ddp": "DistributedDataParallel", "htone_ema": "MovingAverage"}

# Functions whose name says something else in a language than in C.
FUNCTIONS = {
    "htone_tensor_create_copy": "from_bytes",
    "htone_batches_next": "advance",
    "htone_batches_tensor": "tensor",
    "htone_scope_end": "end",
    "htone_context_default": "default_context",
    "htone_autocast_policy_class": "class_of",
    "htone_parameter_create_new": "zeros",
}

# Parameters whose C name is a word of a language, or two parameters of one name; "" leaves out a setting that has no
# effect on the function.
PARAMETERS = {
    "in": "source",
    ("htone_linear_cross_entropy", "options.weight"): "class_weight",
    ("htone_multihead_attention", "options.bias"): "",
}

# Values that a caller rarely changes, by function and parameter or by parameter alone.
DEFAULTS = {
    "dims": "Integers()",
    "keepdim": "false",
    "retain_graph": "false",
    "epsilon": "1e-5",
    "reduction": "Reduction::MEAN",
    "ignore_index": "-100",
    "correction": "1.0",
    "descending": "false",
    "accumulate": "false",
    "include_self": "true",
    "interpolation": "Interpolation::LINEAR",
    "minlength": "0",
    "right": "false",
    "xy": "false",
    "largest": "true",
    "sorted": "true",
    "align_corners": "false",
    ("htone_grid_sample", "mode"): "GridMode::BILINEAR",
    "padding_mode": "GridPadding::ZEROS",
    "error_if_nonfinite": "false",
    "requires_grad": "true",
    "training": "true",
    "frozen": "true",
    ("htone_addcmul", "value"): "1.0",
    ("htone_addcdiv", "value"): "1.0",
    ("htone_glu", "dim"): "-1",
    "rtol": "1e-5",
    "atol": "1e-8",
    "equal_nan": "false",
    ("htone_embedding", "padding_index"): "-1",
    ("htone_gelu", "form"): "GeluForm::ERF",
    ("htone_module_create_gelu", "form"): "GeluForm::ERF",
    ("htone_slice", "step"): "1",
    ("htone_leaky_relu", "negative_slope"): "0.01",
    ("htone_elu", "alpha"): "1.0",
    ("htone_smooth_l1_loss", "beta"): "1.0",
    ("htone_kl_div", "log_target"): "false",
    ("htone_huber_loss", "delta"): "1.0",
    ("htone_ctc_loss", "blank"): "0",
    ("htone_ctc_loss", "zero_infinity"): "false",
    ("htone_gaussian_nll_loss", "full"): "false",
    ("htone_gaussian_nll_loss", "epsilon"): "1e-6",
    ("htone_normalize", "p"): "2.0",
    ("htone_normalize", "dim"): "1",
    ("htone_normalize", "epsilon"): "1e-12",
    ("htone_cosine_similarity", "dim"): "1",
    ("htone_cosine_similarity", "epsilon"): "1e-8",
    ("htone_pairwise_distance", "p"): "2.0",
    ("htone_pairwise_distance", "epsilon"): "1e-6",
    ("htone_cdist", "p"): "2.0",
    ("htone_margin_ranking_loss", "margin"): "0.0",
    ("htone_cosine_embedding_loss", "margin"): "0.0",
    ("htone_triplet_margin_loss", "margin"): "1.0",
    ("htone_triplet_margin_loss", "p"): "2.0",
    ("htone_triplet_margin_loss", "epsilon"): "1e-6",
    ("htone_triplet_margin_loss", "swap"): "false",
    ("htone_multinomial", "replacement"): "false",
    ("htone_pad", "value"): "0.0",
    ("htone_vector_norm", "p"): "2.0",
    ("htone_tril", "diagonal"): "0",
    ("htone_triu", "diagonal"): "0",
    ("htone_diag", "diagonal"): "0",
    ("htone_module_set_recompute_matching", "every"): "1",
}

# Functions that hand-written code calls, with the name that reaches them.
PYTHON_BY_HAND = {
    "htone_error_last": "HalftoneException",
    "htone_error_info_init": "HalftoneException",
    "htone_debug_live_handles": "live_handles",
    "htone_device_create": "Device.__init__",
    "htone_interrupt_set_callback": "watch_interrupts",
    "htone_keep": "keep",
    "htone_tensor_from_buffer_strided": "from_buffer",
    "htone_tensor_data": "Tensor.numpy",
    "htone_tensor_read": "Tensor.read",
    "htone_tensor_from_dlpack": "from_dlpack",
    "htone_tensor_from_dlpack_versioned": "from_dlpack",
    "htone_tensor_to_dlpack": "Tensor.__dlpack__",
    "htone_tensor_to_dlpack_versioned": "Tensor.__dlpack__",
    "htone_error_set": "errors.store",
    "htone_batches_create_callback": "Batches.from_function",
    "htone_store_create_callback": "Store.from_object",
    "htone_store_functions_init": "Store.from_object",
}
