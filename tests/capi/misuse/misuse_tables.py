"""Tables for generate_misuse.py that the headers do not contain: valid and wrong values of parameters and options
fields, and the calls needed before and after a valid call.
"""

from dataclasses import dataclass, field

CHECKPOINT_PARTS = ("module", "optimizer", "grad_scaler", "ema", "sampler", "state_dict")

# Handle type: (kind in misuse_fixture.h, member of the fixture, the function that releases a reference).
HANDLES = {
    "htone_context": ("kContextHandle", "context", "htone_context_release"),
    "htone_device": ("kDeviceHandle", "device", "htone_device_release"),
    "htone_tensor": ("kTensorHandle", "tensor", "htone_tensor_release"),
    "htone_scope": ("kScopeHandle", "scope", "htone_scope_end"),
    "htone_autocast_policy": ("kPolicyHandle", "policy", "htone_autocast_policy_release"),
    "htone_module": ("kModuleHandle", "module", "htone_module_release"),
    "htone_parameter": ("kParameterHandle", "parameter", "htone_parameter_release"),
    "htone_parameters": ("kParametersHandle", "parameters", "htone_parameters_release"),
    "htone_state_dict": ("kStateDictHandle", "state_dict", "htone_state_dict_release"),
    "htone_optimizer": ("kOptimizerHandle", "optimizer", "htone_optimizer_release"),
    "htone_schedule": ("kScheduleHandle", "schedule", "htone_schedule_release"),
    "htone_grad_scaler": ("kGradScalerHandle", "scaler", "htone_grad_scaler_release"),
    "htone_ema": ("kEmaHandle", "ema", "htone_ema_release"),
    "htone_sampler": ("kSamplerHandle", "sampler", "htone_sampler_release"),
    "htone_checkpoint": ("kCheckpointHandle", "checkpoint", "htone_checkpoint_release"),
    "htone_batches": ("kBatchesHandle", "batches", "htone_batches_release"),
    "htone_function": ("kFunctionHandle", "function", "htone_function_release"),
    "htone_hook": ("kHookHandle", "hook", "htone_hook_release"),
}

# Arguments that must be another object of the fixture than the default one of their type.
OTHER_HANDLES = {
    ("htone_grad_scaler_scale", "loss"): "gradient",
    ("htone_cross_entropy", "targets"): "targets",
    ("htone_cross_entropy_with", "targets"): "targets",
    ("htone_cross_entropy_with", "weight"): "bias",
    ("htone_nll_loss", "targets"): "targets",
    ("htone_nll_loss", "weight"): "bias",
    ("htone_accuracy", "targets"): "targets",
    ("htone_batch_norm", "running_mean"): "bias",
    ("htone_batch_norm", "running_var"): "bias",
    ("htone_batch_norm", "weight"): "bias",
    ("htone_batch_norm", "bias"): "bias",
    ("htone_group_norm", "weight"): "bias",
    ("htone_group_norm", "bias"): "bias",
    ("htone_where", "condition"): "mask",
    ("htone_linear", "bias"): "bias",
    ("htone_max_pool1d", "input"): "lines",
    ("htone_max_pool2d", "input"): "images",
    ("htone_avg_pool1d", "input"): "lines",
    ("htone_avg_pool2d", "input"): "images",
    ("htone_adaptive_avg_pool1d", "input"): "lines",
    ("htone_adaptive_avg_pool2d", "input"): "images",
    ("htone_adaptive_max_pool1d", "input"): "lines",
    ("htone_adaptive_max_pool2d", "input"): "images",
    ("htone_conv1d", "input"): "lines",
    ("htone_conv1d", "weight"): "lines",
    ("htone_conv1d", "bias"): "bias",
    ("htone_conv2d", "input"): "images",
    ("htone_conv2d", "weight"): "images",
    ("htone_conv2d", "bias"): "bias",
    ("htone_gather", "input"): "bias",
    ("htone_gather", "index"): "targets",
    ("htone_scatter_add", "input"): "bias",
    ("htone_scatter_add", "index"): "targets",
    ("htone_scatter_add", "source"): "bias",
    ("htone_index_select", "indices"): "targets",
    ("htone_masked_fill", "mask"): "mask",
    ("htone_embedding", "indices"): "targets",
    ("htone_one_hot", "indices"): "targets",
    ("htone_conv_transpose1d", "input"): "lines",
    ("htone_conv_transpose1d", "weight"): "lines",
    ("htone_conv_transpose1d", "bias"): "bias",
    ("htone_conv_transpose2d", "input"): "images",
    ("htone_conv_transpose2d", "weight"): "images",
    ("htone_conv_transpose2d", "bias"): "bias",
    ("htone_module_buffer", "module"): "buffered_module",
    ("htone_module_buffer_name", "module"): "buffered_module",
    ("htone_module_child", "module"): "parent_module",
    ("htone_module_child_name", "module"): "parent_module",
    ("htone_module_find", "module"): "parent_module",
    ("htone_tensor_backward", "tensor"): "loss",
    ("htone_tensor_backward", "gradient"): "gradient",
    ("htone_tensor_grad", "tensor"): "leaf",
    ("htone_tensor_item", "tensor"): "gradient",
    ("htone_tensor_zero_grad", "tensor"): "leaf",
    ("htone_optimizer_create_adamw", "module"): "free_module",
    ("htone_optimizer_create_sgd", "module"): "free_module",
    ("htone_optimizer_create_adam", "module"): "free_module",
    ("htone_optimizer_create_lion", "module"): "free_module",
    ("htone_optimizer_create_rmsprop", "module"): "free_module",
    ("htone_optimizer_create_adafactor", "module"): "free_module",
    ("htone_optimizer_add_adafactor_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_adafactor_group", "optimizer"): "adafactor_optimizer",
    ("htone_optimizer_add_adamw_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_adam_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_adam_group", "optimizer"): "adam_optimizer",
    ("htone_optimizer_add_lion_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_lion_group", "optimizer"): "lion_optimizer",
    ("htone_optimizer_add_rmsprop_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_rmsprop_group", "optimizer"): "rmsprop_optimizer",
    ("htone_optimizer_add_sgd_group", "parameters"): "spare_parameters",
    ("htone_optimizer_add_sgd_group", "optimizer"): "sgd_optimizer",
}

OTHER_HANDLES |= {
    ("htone_module_add_parameter", "module"): "custom_module",
    ("htone_module_add_buffer", "module"): "custom_module",
    ("htone_module_add_child", "module"): "custom_module",
    ("htone_module_add_child", "child"): "free_module",
    ("htone_tensor_add_gradient_hook", "tensor"): "leaf",
}

# Results that are neither handles nor values, with the function that releases them.
OTHER_RESULTS = {
    "struct DLManagedTensor**": "end_old_loan",
    "struct DLManagedTensorVersioned**": "end_loan",
}

# Arrays of handles, with the type of their two elements.
HANDLE_ARRAYS = {"modules": "htone_module", "tensors": "htone_tensor", "inputs": "htone_tensor",
                 "outputs": "htone_tensor", "saved": "htone_tensor"}
# Results that are arrays of two handles.
RESULT_ARRAYS = {"out_results"}

# Options structure: (member of the fixture, True if its first field alone is a complete structure).
OPTIONS = {
    "htone_context_options": ("context_options", True),
    "htone_norm_options": ("norm_options", True),
    "htone_batch_norm_options": ("batch_norm_options", True),
    "htone_linear_options": ("linear_options", True),
    "htone_load_options": ("load_options", True),
    "htone_conv_options": ("conv_options", True),
    "htone_pool_options": ("pool_options", True),
    "htone_embedding_options": ("embedding_options", True),
    "htone_adafactor_options": ("adafactor_options", True),
    "htone_adamw_options": ("adamw_options", True),
    "htone_lion_options": ("lion_options", True),
    "htone_rmsprop_options": ("rmsprop_options", True),
    "htone_sgd_options": ("sgd_options", True),
    "htone_ema_options": ("ema_options", True),
    "htone_sampler_options": ("sampler_options", False),
    "htone_cross_entropy_options": ("cross_entropy_options", True),
    "htone_grad_scaler_options": ("grad_scaler_options", True),
    "htone_scaler_state": ("grad_scaler_state", False),
}

NOT_FINITE = ["NAN", "INFINITY", "-INFINITY"]
EXTREMES = ["INT64_MAX", "INT64_MIN"]
STEPS = ["0", "-1"] + EXTREMES  # of windows

# Wrong values of every options field; None if no value is wrong or context_test.c tests them.
FIELDS = {
    ("htone_context_options", "num_threads"): ["-1", "257", "INT32_MAX", "INT32_MIN"],
    ("htone_context_options", "seed"): None,
    ("htone_context_options", "allocator"): None,
    ("htone_context_options", "io"): None,
    ("htone_context_options", "clock"): None,
    ("htone_norm_options", "affine"): None,
    ("htone_norm_options", "bias"): None,
    ("htone_norm_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_norm_options", "epsilon"): NOT_FINITE + ["-1e-5"],
    ("htone_batch_norm_options", "affine"): None,
    ("htone_batch_norm_options", "track_running_stats"): None,
    ("htone_batch_norm_options", "cumulative"): None,
    ("htone_batch_norm_options", "epsilon"): NOT_FINITE + ["-1e-5"],
    ("htone_batch_norm_options", "momentum"): NOT_FINITE + ["-0.1", "1.1"],
    ("htone_batch_norm_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_linear_options", "bias"): None,
    ("htone_linear_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_load_options", "strict"): None,
    ("htone_pool_options", "count_include_pad"): None,
    ("htone_pool_options", "stride_h"): ["-1"] + EXTREMES,
    ("htone_pool_options", "padding_h"): ["-1"] + EXTREMES,
    ("htone_pool_options", "dilation_h"): STEPS,
    ("htone_pool_options", "stride_w"): ["-1"] + EXTREMES,
    ("htone_pool_options", "padding_w"): ["-1"] + EXTREMES,
    ("htone_pool_options", "dilation_w"): STEPS,
    ("htone_pool_options", "ceil_mode"): None,
    ("htone_embedding_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_embedding_options", "padding_index"): ["-2", "2"] + EXTREMES,
    ("htone_conv_options", "bias"): None,
    ("htone_conv_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_conv_options", "stride_h"): STEPS,
    ("htone_conv_options", "padding_h"): ["-1"] + EXTREMES,
    ("htone_conv_options", "dilation_h"): STEPS,
    ("htone_conv_options", "output_padding_h"): ["-1", "1"] + EXTREMES,
    ("htone_conv_options", "stride_w"): STEPS,
    ("htone_conv_options", "padding_w"): ["-1"] + EXTREMES,
    ("htone_conv_options", "dilation_w"): STEPS,
    ("htone_conv_options", "output_padding_w"): ["-1", "1"] + EXTREMES,
    ("htone_conv_options", "groups"): ["3"] + STEPS,
    ("htone_adafactor_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_adafactor_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_adafactor_options", "beta2_decay"): NOT_FINITE + ["0.1"],
    ("htone_adafactor_options", "epsilon1"): NOT_FINITE + ["0.0", "-1e-8"],
    ("htone_adafactor_options", "epsilon2"): NOT_FINITE + ["-1e-3"],
    ("htone_adafactor_options", "clip_threshold"): NOT_FINITE + ["0.9", "-1.0"],
    ("htone_adafactor_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_adafactor_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_adafactor_options", "master_storage"): ["-1", "3", "INT32_MAX", "HTONE_MASTER_SPLIT", "HTONE_MASTER_NONE"],
    ("htone_adamw_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_adamw_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_adamw_options", "beta1"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "beta2"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "epsilon"): NOT_FINITE + ["0.0", "-1e-8"],
    ("htone_adamw_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_adamw_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_adamw_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_adamw_options", "moment2_dtype"): ["-1", "200", "HTONE_I8", "HTONE_BF16", "HTONE_F64"],
    ("htone_adamw_options", "master_storage"): ["-1", "3", "INT32_MAX", "HTONE_MASTER_SPLIT", "HTONE_MASTER_NONE"],
    ("htone_lion_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_lion_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_lion_options", "beta1"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_lion_options", "beta2"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_lion_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_lion_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_lion_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_lion_options", "master_storage"): ["-1", "3", "INT32_MAX", "HTONE_MASTER_SPLIT", "HTONE_MASTER_NONE"],
    ("htone_rmsprop_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_rmsprop_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_rmsprop_options", "alpha"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_rmsprop_options", "epsilon"): NOT_FINITE + ["0.0", "-1e-8"],
    ("htone_rmsprop_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_rmsprop_options", "momentum"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_rmsprop_options", "centered"): None,
    ("htone_rmsprop_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_rmsprop_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_rmsprop_options", "moment2_dtype"): ["-1", "200", "HTONE_I8", "HTONE_BF16", "HTONE_F64"],
    ("htone_rmsprop_options", "master_storage"): ["-1", "3", "INT32_MAX", "HTONE_MASTER_SPLIT", "HTONE_MASTER_NONE"],
    ("htone_sgd_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_sgd_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_sgd_options", "momentum"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_sgd_options", "dampening"): NOT_FINITE + ["1.1", "-0.1"],
    ("htone_sgd_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_sgd_options", "nesterov"): ["1"],  # without momentum
    ("htone_sgd_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_sgd_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_sgd_options", "master_storage"): ["-1", "3", "INT32_MAX", "HTONE_MASTER_SPLIT", "HTONE_MASTER_NONE"],
    ("htone_ema_options", "warmup"): None,
    ("htone_ema_options", "decay"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_sampler_options", "shuffle"): None,
    ("htone_sampler_options", "seed"): None,
    ("htone_sampler_options", "count"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "batch_size"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "drop_last"): None,
    ("htone_sampler_options", "rank"): ["-1", "1", "INT32_MAX"],
    ("htone_sampler_options", "world_size"): ["0", "-1"],
    ("htone_cross_entropy_options", "reduction"): ["-1", "3", "INT32_MAX"],
    ("htone_cross_entropy_options", "ignore_index"): None,
    ("htone_cross_entropy_options", "label_smoothing"): NOT_FINITE + ["-0.1", "1.1"],
    ("htone_grad_scaler_options", "enabled"): None,
    ("htone_grad_scaler_options", "initial_scale"): NOT_FINITE + ["0.0", "-1.0", "1e39"],
    ("htone_grad_scaler_options", "growth_factor"): NOT_FINITE + ["0.5"],
    ("htone_grad_scaler_options", "backoff_factor"): NOT_FINITE + ["0.0", "1.5", "-0.5"],
    ("htone_grad_scaler_options", "min_scale"): NOT_FINITE + ["-1.0"],
    ("htone_grad_scaler_options", "max_scale"): ["NAN", "-INFINITY", "0.0", "-1.0"],
    ("htone_grad_scaler_options", "growth_interval"): ["0", "-1", "INT64_MIN"],
    ("htone_grad_scaler_options", "hysteresis"): ["0", "-1", "INT32_MIN"],
    ("htone_grad_scaler_options", "renew_hysteresis_each_step"): None,
    ("htone_grad_scaler_options", "grow_after_interval"): None,
    ("htone_grad_scaler_options", "fp32_factors"): None,
    ("htone_grad_scaler_options", "at_minimum"): ["-1", "3", "INT32_MAX"],
    ("htone_grad_scaler_options", "histogram_limit"): NOT_FINITE + ["-1.0", "1e39", "1e-40"],
    ("htone_grad_scaler_options", "histogram_share"): NOT_FINITE + ["-0.1", "1.0"],
    ("htone_scaler_state", "ceiling"): NOT_FINITE + ["-1.0", "1e39", "1e-40"],
    ("htone_scaler_state", "hysteresis_left"): ["-1", "INT32_MIN"],
    ("htone_scaler_state", "scale"): NOT_FINITE + ["0.0", "-1.0", "1e39"],
    ("htone_scaler_state", "growth_tracker"): ["-1", "INT64_MIN"],
}

# Result structures whose struct_size the caller sets.
RESULT_STRUCTURES = ("htone_error_info", "htone_memory_stats", "htone_scaler_state", "htone_step_outcome")


@dataclass
class Values:
    """A valid value of a parameter that is not a handle, a result or options, and wrong values: (value, status)."""

    valid: str
    wrong: list = field(default_factory=list)


def refuse(values, status="INVALID_ARGUMENT"):
    return [(value, status) for value in values]


DTYPES = refuse(["0", "200", "-1", "13", "INT32_MAX"])
FLOATS = DTYPES + refuse(["HTONE_I64", "HTONE_BOOL"])
SIZE = Values("2", refuse(["0", "-1", "INT64_MIN", "INT64_MAX"]))
NUMBER_OF_DIMS = Values("2", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"]))
DIM = refuse(["2", "-3"] + EXTREMES)
FINITE = refuse(NOT_FINITE)
INDEX = refuse(["1000", "SIZE_MAX"])

# "another" is wrong, too: the valid call has already taken that name.
PART_NAME = Values('"another"', refuse(['""', '"a\\nb"', '"\\xff"', '"a.b"', '"another"']))

# Values by parameter name, or by (function, name) if one name has several meanings.
VALUES = {
    "a": Values("HTONE_F32", DTYPES),
    "b": Values("HTONE_F16", DTYPES),
    "autocast_class": Values("HTONE_AUTOCAST_LOW", refuse(["0", "5", "-1"])),
    "beta": Values("1.0", FINITE + refuse(["-1.0"])),
    "ignore_index": Values("-100"),
    "log_target": Values("0"),
    "reduction": Values("HTONE_REDUCTION_MEAN", refuse(["-1", "3", "INT32_MAX"])),
    ("htone_kl_div", "reduction"): Values("HTONE_REDUCTION_BATCH_MEAN", refuse(["-1", "4", "INT32_MAX"])),
    "bytes": Values("0", refuse(["-1", "INT64_MIN"])),
    "callback": Values("NULL"),
    ("htone_schedule_create_callback", "callback"): Values("constant_factor", refuse(["NULL"])),
    ("htone_function_create", "callback"): Values("no_backward", refuse(["NULL"])),
    ("htone_module_create_custom", "callback"): Values("no_forward", refuse(["NULL"])),
    ("htone_module_add_forward_pre_hook", "callback"): Values("no_forward", refuse(["NULL"])),
    ("htone_module_add_forward_hook", "callback"): Values("no_forward_hook", refuse(["NULL"])),
    ("htone_tensor_add_gradient_hook", "callback"): Values("no_gradient_hook", refuse(["NULL"])),
    ("htone_parameter_add_post_accumulate_hook", "callback"): Values("no_parameter_hook", refuse(["NULL"])),
    "input_count": Values("2", refuse(["0"])),
    "output_count": Values("2", refuse(["0"])),
    "saved_count": Values("2"),
    "capacity": Values("100"),
    ("htone_module_summary", "capacity"): Values("200"),
    ("htone_parameter_shape", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    ("htone_tensor_shape", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    ("htone_tensor_strides", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    "channels": Values("2", refuse(["0", "-1", "INT64_MIN", "INT64_MAX"])),
    "correction": Values("1.0", FINITE),
    "count": Values("2"),
    "data": Values("numbers"),
    "deleter": Values("NULL"),
    "destroy": Values("NULL"),
    "directory": Values("fixture.free_directory", refuse(['""']) + refuse(['"/nowhere/run"'], "IO")),
    "dim": Values("0", DIM),
    "dim0": Values("0", DIM),
    "dim1": Values("1", DIM),
    "dim_count": Values("1", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"])),
    "dims": Values("zero_dim", refuse(["outside_dim"])),
    ("htone_permute", "dim_count"): Values("2", refuse(["-1", "0", "1", "9", "INT32_MAX", "INT32_MIN"])),
    ("htone_permute", "dims"): Values("both_dims", refuse(["square"])),
    ("htone_unsqueeze", "dim"): Values("0", refuse(["3", "-4"] + EXTREMES)),
    ("htone_stack", "dim"): Values("0", refuse(["3", "-4"] + EXTREMES)),
    ("htone_broadcast_to", "shape"): Values("square", refuse(["negative_shape", "overflowing_shape"])),
    ("htone_cat", "count"): Values("2", refuse(["0"])),
    ("htone_stack", "count"): Values("2", refuse(["0"])),
    ("htone_split", "count"): Values("1", refuse(["0"])),
    ("htone_split", "sizes"): Values("outside_dim", refuse(["zero_dim", "overflowing_shape"], "SHAPE_MISMATCH")),
    "embedding_dim": SIZE,
    "equation": Values('"ij,jk->ik"', refuse(['""', '"ij"', '"ij,jk->il"', '"i1,jk"', '"ij,jk-ik"']) +
                       refuse(['"ii,jk->k"'], "UNSUPPORTED")),
    "num_embeddings": SIZE,
    "p": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "padding_index": Values("-1", refuse(["-2", "2"] + EXTREMES)),
    "pair_count": Values("1", refuse(["-1", "3", "INT32_MAX", "INT32_MIN"])),
    "padding": Values("square", refuse(["overflowing_shape"])),
    "diagonal": Values("0"),
    "dtype": Values("HTONE_F32", DTYPES),
    ("htone_parameter_read", "dtype"): Values("HTONE_F32", FLOATS),
    ("htone_autocast_policy_create", "dtype"): Values("HTONE_BF16", FLOATS + refuse(["HTONE_F64", "HTONE_F8E4M3"])),
    "end": Values("2"),
    ("htone_arange", "start"): Values("0.0", FINITE),
    ("htone_arange", "end"): Values("2.0", FINITE),
    ("htone_arange", "step"): Values("1.0", FINITE + refuse(["0.0", "-1.0"])),
    ("htone_arange", "dtype"): Values("HTONE_F32", DTYPES + refuse(["HTONE_BOOL"])),
    ("htone_linspace", "start"): Values("0.0", FINITE),
    ("htone_linspace", "end"): Values("2.0", FINITE),
    ("htone_linspace", "count"): Values("3", refuse(["-1"] + EXTREMES)),
    ("htone_linspace", "dtype"): Values("HTONE_F32", DTYPES + refuse(["HTONE_BOOL"])),
    ("htone_rand", "dtype"): Values("HTONE_F32", FLOATS),
    ("htone_randn", "dtype"): Values("HTONE_F32", FLOATS),
    ("htone_vector_norm", "p"): Values("2.0", refuse(["NAN"])),
    "alpha": Values("1.0", FINITE),
    "classes": SIZE,
    "columns": Values("2", refuse(["-1"] + EXTREMES)),
    "negative_slope": Values("0.01", FINITE),
    "number": Values("2.0"),
    "repeat_count": Values("2", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"])),
    "repeats": Values("square", refuse(["negative_shape", "overflowing_shape"])),
    "rows": Values("2", refuse(["-1"] + EXTREMES)),
    "shifts": Values("square"),
    "n": Values("2", refuse(["-1", "INT64_MIN", "INT64_MAX"])),
    "epsilon": Values("1e-5", FINITE + refuse(["-1e-5"])),
    "exponent": Values("3.0", FINITE),
    "final_factor": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "form": Values("HTONE_GELU_ERF", refuse(["2", "-1"])),
    "frozen": Values("0"),
    ("htone_module_create_group_norm", "groups"): Values("2", refuse(["0", "-1", "3", "INT64_MIN", "INT64_MAX"])),
    "groups": Values("2", refuse(["0", "-1", "INT64_MIN"]) + refuse(["3", "INT64_MAX"], "SHAPE_MISMATCH")),
    "high": Values("1.0", FINITE + refuse(["-1.0", "-2.0"])),
    "in_channels": SIZE,
    "in_features": SIZE,
    "index": Values("0", INDEX),
    "keepdim": Values("0"),
    "low": Values("-1.0", FINITE),
    "lr": Values("0.5", FINITE + refuse(["-0.1"])),
    ("htone_clamp", "low"): Values("-1.0", refuse(["NAN"])),
    ("htone_clamp", "high"): Values("1.0", refuse(["NAN"])),
    "managed": Values("&fixture.managed"),
    ("htone_tensor_from_dlpack", "managed"): Values("&fixture.old_managed"),
    "mean": Values("0.0", FINITE),
    "name": Values('"cpu"', refuse(['"gpu"', '""', '"cpu:99"'], "DEVICE")),
    ("htone_function_create", "name"): Values('"square"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    ("htone_module_add_parameter", "name"): PART_NAME,
    ("htone_module_add_buffer", "name"): PART_NAME,
    ("htone_module_add_child", "name"): PART_NAME,
    ("htone_state_dict_add", "name"): Values('"another"', refuse(['""', '"a\\nb"', '"\\xff"', '"weight"'])),
    ("htone_state_dict_find", "name"): Values('"weight"', refuse(['""', '"no_such_name"'])),
    ("htone_parameter_create", "name"): Values('"host"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    ("htone_layer_norm", "ndim"): Values("2", refuse(["0", "-1", "9", "INT32_MAX", "INT32_MIN"])),
    ("htone_module_create_layer_norm", "ndim"): Values("2", refuse(["0", "-1", "9", "INT32_MAX", "INT32_MIN"])),
    ("htone_module_create_rms_norm", "ndim"): Values("2", refuse(["0", "-1", "9", "INT32_MAX", "INT32_MIN"])),
    ("htone_rms_norm", "ndim"): Values("2", refuse(["0", "-1", "9", "INT32_MAX", "INT32_MIN"])),
    "normalized_shape": Values("square", refuse(["negative_shape", "overflowing_shape"])),
    **{(f"htone_checkpoint_add_{part}", "name"): Values('"part"', refuse(['""', '"a/b"', '"random"']))
       for part in CHECKPOINT_PARTS},
    "ndim": NUMBER_OF_DIMS,
    "offset": Values("0.0", FINITE),
    "op": Values('"matmul"', refuse(['"no_such_operation"', '""'])),
    "kernel_h": SIZE,
    "kernel_w": SIZE,
    "out_channels": SIZE,
    "out_features": SIZE,
    "path": Values('"/nowhere/plugin.so"', refuse(['"/nowhere/plugin.so"'], "IO")),
    ("htone_module_find", "path"): Values('"0"', refuse(['"1"', '"0.0"', '"."'])),
    ("htone_module_find_parameter", "name"): Values('"weight"', refuse(['""', '"no_such_name"', '"0.weight"'])),
    "names": Values("two_names", refuse(["equal_names", "dotted_names", "null_names"])),
    ("htone_safetensors_save", "path"): Values("fixture.safetensors_path", refuse(['""']) + refuse(['"/nowhere/file"'], "IO")),
    ("htone_safetensors_load", "path"): Values("fixture.safetensors_path",
                                                 refuse(['""']) + refuse(['"/nowhere/file"', '"/"'], "IO")),
    "result_h": SIZE,
    "result_w": SIZE,
    "requires_grad": Values("0"),
    "retain_graph": Values("1"),
    "scale": Values("2.0", FINITE),
    "shape": Values("square", refuse(["negative_shape", "overflowing_shape"])),
    "gamma": Values("0.5", FINITE + refuse(["0.0", "1.1", "-0.5"])),
    "pattern": Values('"*"'),
    "position": Values("3", refuse(["-1", "INT64_MIN"])),
    "start_factor": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "step_size": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "warmup_steps": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "momentum": Values("0.1", FINITE),
    "max_norm": Values("1.0", FINITE + refuse(["0.0", "-1.0"])),
    "preset": Values("HTONE_SCALER_TORCH", refuse(["-1", "4", "INT32_MAX"])),
    "size": Values("sizeof numbers", refuse(["0", "1", "SIZE_MAX"])),
    "start": Values("0"),
    "status": Values("HTONE_OK"),
    "strides": Values("square_strides", refuse(["negative_shape", "overflowing_shape"])),
    "std": Values("1.0", FINITE + refuse(["-1.0"])),
    "step": Values("1", refuse(["0", "-1", "INT64_MIN"])),
    ("htone_checkpoint_save", "step"): Values("1", refuse(["-1", "INT64_MIN"])),
    ("htone_checkpoint_verify", "step"): Values("0", refuse(["-1", "INT64_MIN"]) + refuse(["1", "INT64_MAX"], "IO")),
    "training": Values("0"),
    "total_steps": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "user": Values("NULL"),
    "value": Values("1.0"),
    ("htone_optimizer_set_grad_value_limit", "value"): Values("1.0", refuse(["NAN", "0.0", "-1.0", "-INFINITY"])),
}

# Calls that a valid call needs before it (BEFORE), and calls that undo it (AFTER).
BEFORE = {name + "_release": f"assert_ok({name}_retain({member}));" for name, (_, member, _) in HANDLES.items()
          if name != "htone_scope"}
BEFORE["htone_scope_end"] = "assert_ok(htone_no_grad_begin(&scope));"
AFTER = {name + "_retain": f"assert_ok({name}_release({member}));" for name, (_, member, _) in HANDLES.items()
         if name != "htone_scope"}
AFTER["htone_scope_end"] = "scope = fixture.scope;"
for rule in ("adafactor", "adam", "adamw", "lion", "rmsprop", "sgd"):
    BEFORE[f"htone_optimizer_add_{rule}_group"] = "parameters = renew_spare_parameters();"
for part in CHECKPOINT_PARTS:
    BEFORE[f"htone_checkpoint_add_{part}"] = "checkpoint = renew_checkpoint();"
BEFORE["htone_checkpoint_save"] = "checkpoint = renew_checkpoint();"
BEFORE["htone_checkpoint_verify"] = "checkpoint = renew_checkpoint(); assert_ok(htone_checkpoint_save(checkpoint, 0));"
BEFORE["htone_grad_scaler_update"] = "assert_ok(htone_grad_scaler_unscale(scaler, fixture.optimizer));"
AFTER["htone_grad_scaler_unscale"] = "assert_ok(htone_grad_scaler_update(scaler));"
AFTER["htone_grad_scaler_step"] = "assert_ok(htone_grad_scaler_update(scaler));"

# Functions that cannot succeed in this test, with the reason.
NEVER_VALID = {"htone_context_load_plugin": "there is no plugin to load"}
# Failures that are not recorded as the last error.
UNRECORDED = {"htone_error_last"}
# Functions that return no status: with each of these values they must return a string or a number.
PLAIN = {
    "htone_status_name": ["HTONE_OK", "-1", "18", "INT32_MAX", "INT32_MIN"],
    "htone_dtype_name": ["HTONE_F32", "0", "-1", "200", "INT32_MIN"],
    "htone_version": [""],
}
