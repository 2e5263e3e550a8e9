"""What generate_misuse.py cannot read from the headers: valid and wrong values of parameters and options fields, and
what a valid call needs around it.
"""

from dataclasses import dataclass, field

# Handle type: (kind in misuse_fixture.h, member of the fixture, the function that gives a reference back).
HANDLES = {
    "htone_context": ("kContextHandle", "context", "htone_context_release"),
    "htone_device": ("kDeviceHandle", "device", "htone_device_release"),
    "htone_tensor": ("kTensorHandle", "tensor", "htone_tensor_release"),
    "htone_scope": ("kScopeHandle", "scope", "htone_scope_end"),
    "htone_autocast_policy": ("kPolicyHandle", "policy", "htone_autocast_policy_release"),
    "htone_module": ("kModuleHandle", "module", "htone_module_release"),
    "htone_parameter": ("kParameterHandle", "parameter", "htone_parameter_release"),
    "htone_optimizer": ("kOptimizerHandle", "optimizer", "htone_optimizer_release"),
    "htone_schedule": ("kScheduleHandle", "schedule", "htone_schedule_release"),
    "htone_grad_scaler": ("kGradScalerHandle", "scaler", "htone_grad_scaler_release"),
    "htone_sampler": ("kSamplerHandle", "sampler", "htone_sampler_release"),
    "htone_batches": ("kBatchesHandle", "batches", "htone_batches_release"),
}

# Handles that must be another object of the fixture than the type's first.
OTHER_HANDLES = {
    ("htone_grad_scaler_scale", "loss"): "gradient",
    ("htone_cross_entropy", "targets"): "targets",
    ("htone_accuracy", "targets"): "targets",
    ("htone_linear", "bias"): "bias",
    ("htone_tensor_backward", "tensor"): "loss",
    ("htone_tensor_backward", "gradient"): "gradient",
    ("htone_tensor_grad", "tensor"): "leaf",
    ("htone_tensor_item", "tensor"): "gradient",
    ("htone_tensor_zero_grad", "tensor"): "leaf",
    ("htone_optimizer_create_adamw", "module"): "free_module",
    ("htone_optimizer_create_sgd", "module"): "free_module",
}

# Arrays of handles: what one of two elements is.
HANDLE_ARRAYS = {"modules": "htone_module", "tensors": "htone_tensor"}

# Options structure: (member of the fixture, whether its first field alone is a complete structure).
OPTIONS = {
    "htone_context_options": ("context_options", True),
    "htone_linear_options": ("linear_options", True),
    "htone_adamw_options": ("adamw_options", True),
    "htone_sgd_options": ("sgd_options", True),
    "htone_sampler_options": ("sampler_options", False),
    "htone_grad_scaler_options": ("grad_scaler_options", True),
    "htone_grad_scaler_state": ("grad_scaler_state", False),
}

NOT_FINITE = ["NAN", "INFINITY", "-INFINITY"]
EXTREMES = ["INT64_MAX", "INT64_MIN"]

# Wrong values of every options field; None where no value is wrong or context_test.c tries them.
FIELDS = {
    ("htone_context_options", "num_threads"): ["-1", "257", "INT32_MAX", "INT32_MIN"],
    ("htone_context_options", "seed"): None,
    ("htone_context_options", "allocator"): None,
    ("htone_context_options", "io"): None,
    ("htone_context_options", "clock"): None,
    ("htone_linear_options", "bias"): None,
    ("htone_linear_options", "dtype"): ["-1", "200", "HTONE_I32", "HTONE_F8E4M3", "HTONE_BOOL"],
    ("htone_adamw_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_adamw_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_adamw_options", "beta1"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "beta2"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_adamw_options", "epsilon"): NOT_FINITE + ["0.0", "-1e-8"],
    ("htone_adamw_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_adamw_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_adamw_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_adamw_options", "moment2_dtype"): ["-1", "200", "HTONE_I8", "HTONE_BF16", "HTONE_F64"],
    ("htone_adamw_options", "master_storage"): ["-1", "2", "INT32_MAX", "HTONE_MASTER_SPLIT"],
    ("htone_sgd_options", "compute_dtype"): ["-1", "200", "HTONE_I8", "HTONE_F64", "HTONE_F8E5M2"],
    ("htone_sgd_options", "lr"): NOT_FINITE + ["-1.0"],
    ("htone_sgd_options", "momentum"): NOT_FINITE + ["1.0", "-0.1"],
    ("htone_sgd_options", "dampening"): NOT_FINITE + ["1.1", "-0.1"],
    ("htone_sgd_options", "weight_decay"): NOT_FINITE + ["-0.1"],
    ("htone_sgd_options", "nesterov"): ["1"],  # without momentum
    ("htone_sgd_options", "grad_dtype"): ["-1", "200", "HTONE_BF16", "HTONE_F64"],  # compute_dtype is f32
    ("htone_sgd_options", "moment1_dtype"): ["-1", "200", "HTONE_F16", "HTONE_F64", "HTONE_U8"],
    ("htone_sgd_options", "master_storage"): ["-1", "2", "INT32_MAX", "HTONE_MASTER_SPLIT"],
    ("htone_sampler_options", "shuffle"): None,
    ("htone_sampler_options", "seed"): None,
    ("htone_sampler_options", "count"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "batch_size"): ["0", "-1", "INT64_MIN"],
    ("htone_sampler_options", "drop_last"): None,
    ("htone_sampler_options", "rank"): ["-1", "1", "INT32_MAX"],
    ("htone_sampler_options", "world_size"): ["0", "-1"],
    ("htone_grad_scaler_options", "enabled"): None,
    ("htone_grad_scaler_options", "initial_scale"): NOT_FINITE + ["0.0", "-1.0", "1e39"],
    ("htone_grad_scaler_options", "growth_factor"): NOT_FINITE + ["0.5"],
    ("htone_grad_scaler_options", "backoff_factor"): NOT_FINITE + ["0.0", "1.5", "-0.5"],
    ("htone_grad_scaler_options", "min_scale"): NOT_FINITE + ["-1.0"],
    ("htone_grad_scaler_options", "max_scale"): ["NAN", "-INFINITY", "0.0", "-1.0"],
    ("htone_grad_scaler_options", "growth_interval"): ["0", "-1", "INT64_MIN"],
    ("htone_grad_scaler_options", "hysteresis"): ["0", "-1", "INT32_MIN"],
    ("htone_grad_scaler_options", "renew_hysteresis_each_step"): None,
    ("htone_grad_scaler_options", "at_minimum"): ["-1", "3", "INT32_MAX"],
    ("htone_grad_scaler_state", "hysteresis_left"): ["-1", "INT32_MIN"],
    ("htone_grad_scaler_state", "scale"): NOT_FINITE + ["0.0", "-1.0", "1e39"],
    ("htone_grad_scaler_state", "growth_tracker"): ["-1", "INT64_MIN"],
}

# Result structures whose struct_size the caller sets.
RESULT_STRUCTURES = ("htone_error_info", "htone_memory_stats", "htone_grad_scaler_state", "htone_step_outcome")


@dataclass
class Values:
    """A valid value of a parameter that is no handle, result or options, and wrong ones: (value, status)."""

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

# By the parameter's name, or by (function, name) where one name means several things.
VALUES = {
    "a": Values("HTONE_F32", DTYPES),
    "b": Values("HTONE_F16", DTYPES),
    "autocast_class": Values("HTONE_AUTOCAST_LOW", refuse(["0", "5", "-1"])),
    "bytes": Values("0", refuse(["-1", "INT64_MIN"])),
    "callback": Values("NULL"),
    "capacity": Values("100"),
    ("htone_tensor_shape", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    ("htone_tensor_strides", "capacity"): Values("8", refuse(["-1", "INT32_MIN"])),
    "count": Values("2"),
    "data": Values("numbers"),
    "deleter": Values("NULL"),
    "destroy": Values("NULL"),
    "dim": Values("0", DIM),
    "dim0": Values("0", DIM),
    "dim1": Values("1", DIM),
    "dim_count": Values("1", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"])),
    "dims": Values("zero_dim", refuse(["outside_dim"])),
    "dtype": Values("HTONE_F32", DTYPES),
    ("htone_parameter_read", "dtype"): Values("HTONE_F32", FLOATS),
    ("htone_autocast_policy_create", "dtype"): Values("HTONE_BF16", FLOATS + refuse(["HTONE_F64", "HTONE_F8E4M3"])),
    "end": Values("2"),
    "final_factor": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "form": Values("HTONE_GELU_ERF", refuse(["2", "-1"])),
    "high": Values("1.0", FINITE + refuse(["-1.0", "-2.0"])),
    "in_features": SIZE,
    "index": Values("0", INDEX),
    "keepdim": Values("0"),
    "low": Values("-1.0", FINITE),
    "mean": Values("0.0", FINITE),
    "name": Values('"cpu"', refuse(['"gpu"', '""', '"cpu:99"'], "DEVICE")),
    "ndim": NUMBER_OF_DIMS,
    "offset": Values("0.0", FINITE),
    "op": Values('"matmul"', refuse(['"no_such_operation"', '""'])),
    "out_features": SIZE,
    "path": Values('"/nowhere/plugin.so"', refuse(['"/nowhere/plugin.so"'], "IO")),
    "requires_grad": Values("0"),
    "retain_graph": Values("1"),
    "scale": Values("2.0", FINITE),
    "shape": Values("square", refuse(["negative_shape", "overflowing_shape"])),
    "gamma": Values("0.5", FINITE + refuse(["0.0", "1.1", "-0.5"])),
    "position": Values("3", refuse(["-1", "INT64_MIN"])),
    "start_factor": Values("0.5", FINITE + refuse(["-0.1", "1.1"])),
    "step_size": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "warmup_steps": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "max_norm": Values("1.0", FINITE + refuse(["0.0", "-1.0"])),
    "preset": Values("HTONE_SCALER_TORCH", refuse(["-1", "3", "INT32_MAX"])),
    "size": Values("sizeof numbers", refuse(["0", "1", "SIZE_MAX"])),
    "start": Values("0"),
    "status": Values("HTONE_OK"),
    "std": Values("1.0", FINITE + refuse(["-1.0"])),
    "step": Values("1", refuse(["0", "-1", "INT64_MIN"])),
    "total_steps": Values("10", refuse(["0", "-1", "INT64_MIN"])),
    "user": Values("NULL"),
    "value": Values("1.0"),
    ("htone_optimizer_set_clip_value", "value"): Values("1.0", refuse(["NAN", "0.0", "-1.0", "-INFINITY"])),
}

# What a valid call needs before it and leaves to undo, beside its results.
BEFORE = {name + "_release": f"assert_ok({name}_retain({member}));" for name, (_, member, _) in HANDLES.items()
          if name != "htone_scope"}
BEFORE["htone_scope_end"] = "assert_ok(htone_no_grad_begin(&scope));"
AFTER = {name + "_retain": f"assert_ok({name}_release({member}));" for name, (_, member, _) in HANDLES.items()
         if name != "htone_scope"}
AFTER["htone_scope_end"] = "scope = fixture.scope;"
BEFORE["htone_grad_scaler_update"] = "assert_ok(htone_grad_scaler_unscale(scaler, fixture.optimizer));"
AFTER["htone_grad_scaler_unscale"] = "assert_ok(htone_grad_scaler_update(scaler));"
AFTER["htone_grad_scaler_step"] = "assert_ok(htone_grad_scaler_update(scaler));"

# No call of these can succeed here, and why.
NEVER_VALID = {"htone_context_load_plugin": "there is no plugin to load"}
# Failures that are not recorded as the last error.
UNRECORDED = {"htone_error_last"}
# Functions that answer no status: the call with each of these values must answer a string or a number.
PLAIN = {
    "htone_status_name": ["HTONE_OK", "-1", "18", "INT32_MAX", "INT32_MIN"],
    "htone_dtype_name": ["HTONE_F32", "0", "-1", "200", "INT32_MIN"],
    "htone_version": [""],
}
