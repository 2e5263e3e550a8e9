"""Arguments with which every function of the C API can be called from another language.

The valid values are those of the misuse test (tests/capi/misuse). An object is a call that creates it, with the
arguments that differ from the usual ones; an object within it is the name of another row."""
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capi/misuse"))
from misuse_tables import HANDLES, OTHER_HANDLES, VALUES  # noqa: E402: found by the path above


def ones(*shape: int, dtype: str = "HTONE_F32") -> tuple[str, dict]:
    return "htone_tensor_create_ones", {"shape": list(shape), "dtype": dtype}


def module(kind: str, **arguments) -> tuple[str, dict]:
    return f"htone_module_create_{kind}", arguments


OBJECTS = {
    "context": ("htone_context_default", {}), "device": ("htone_device_create", {}), "tensor": ones(2, 2),
    "lines": ones(2, 2, 2), "images": ones(2, 2, 2, 2), "volumes": ones(2, 2, 2, 2, 2), "labels": ones(2, 1, dtype="HTONE_I64"),
    "blocks": ones(4, 2, 2), "columns": ones(2, 4, 1), "bias": ones(2),
    "number": ones(1), "amax": ones(1), "gradient": ones(), "cell_states": ones(1, 2, 2), "lstm_weight": ones(8, 2),
    "lstm_bias": ones(8), "gru_weight": ones(6, 2), "gru_bias": ones(6), "bytes8": ones(2, 2, dtype="HTONE_F8E4M3"),
    "targets": ones(2, dtype="HTONE_I64"), "tokens": ones(3, dtype="HTONE_I64"),
    "prompt": ones(1, 2, dtype="HTONE_I64"), "mask": ones(2, dtype="HTONE_BOOL"),
    "leaf": ("htone_parameter_tensor", {}), "output": ("htone_module_forward", {}),
    "loss": ("htone_sum", {"input": "output", "dims": []}),
    "module": module("linear"), "free_module": module("linear"), "custom_module": module("linear"),
    "counting_module": module("linear"),
    "pair_module": module("linear"), "buffered_module": module("batch_norm1d"), "lstm_module": module("lstm"),
    "gru_module": module("gru"), "language_model": module("transformer"), "parent_module": module("sequential"),
    "parameter": ("htone_module_parameter", {}), "bias_parameter": ("htone_module_parameter", {"index": 1}),
    "parameters": ("htone_parameters_create_from_module", {}),
    "spare_parameters": ("htone_parameters_create_from_module", {}),
    "state_dict": ("htone_module_state_dict", {}), "optimizer_state": ("htone_optimizer_state_dict", {}),
    "optimizer": ("htone_optimizer_create_adamw", {}), "schedule": ("htone_schedule_create_constant", {}),
    "plateau_schedule": ("htone_schedule_create_plateau", {}), "scaler": ("htone_grad_scaler_create", {}),
    "ema": ("htone_ema_create", {}), "sampler": ("htone_sampler_create", {}), "batches": ("htone_batches_create", {}),
    "checkpoint": ("htone_checkpoint_create", {}), "policy": ("htone_autocast_policy_create", {}),
    "recipe": ("htone_recipe_create", {}),
    "scope": ("htone_no_grad_begin", {}), "stack": ("htone_scope_stack_create", {}),
    "store": ("htone_store_create_memory", {}),
    "group": ("htone_group_create", {}), "work": ("htone_group_barrier", {"async_op": True}),
    "scaled": ("htone_scaled_create", {}), "scaled_state": ("htone_state_dict_create", {}),
    "statistics": ("htone_statistics_create", {}),
    "trainer": ("htone_trainer_create", {}), "own_batches": ("htone_batches_create", {}),
    "ddp": ("htone_ddp_create", {}), "fsdp": ("htone_fsdp_create", {}),
    "group_settings": ("htone_optimizer_group", {}),
    **{f"{rule}_optimizer": (f"htone_optimizer_create_{rule}", {})
       for rule in ("adafactor", "adam", "adamw", "lion", "rmsprop", "sgd")},
}
# Arguments that differ from those of the misuse test, which creates its objects by other means.
ARGUMENTS = {
    "modules": ["module"], "tensors": ["tensor"], "inputs": ["tensor"], "names": ["first"],
    ("htone_gradients", "inputs"): ["leaf"], ("htone_gradients", "outputs"): ["loss"],
    ("htone_gradients", "gradients"): ["gradient"], ("htone_module_forward_n", "output_count"): 1,
    ("htone_optimizer_load_state_dict", "state_dict"): "optimizer_state",
    ("htone_index", "indices"): ["targets"], ("htone_index_put", "indices"): ["targets"],
    ("htone_meshgrid", "tensors"): ["bias"],
    ("htone_roll", "shifts"): [1],
    **{(f"htone_pad{kind}", "padding"): [1, 1] for kind in ("", "_reflect", "_replicate", "_circular")},
}
ARRAYS = {"square": [2, 2], "zero_dim": [0], "both_dims": [1, 0], "outside_dim": [2], "square_strides": [2, 1],
          "two_ranks": [1, 0], "two_directions": [1, 2]}
# Structures that another call returns.
RESULTS = {("htone_optimizer_set_group", "options"): "group_settings"}
# The settings of an options structure that a call cannot do without.
SETTINGS = {
    "GenerateOptions": {"new_tokens": 1, "context": 2}, "GradientsOptions": {"allow_unused": True},
    "OneCycleOptions": {"total_steps": 10}, "SamplerOptions": {"count": 2, "batch_size": 2},
    "ScalerState": {"scale": 1024.0, "hysteresis_left": 1},
    "TransformerOptions": {"vocabulary": 3, "positions": 2, "layers": 1, "width": 4, "heads": 2},
}
# These calls are refused: the object is new, or the machine lacks what they need.
REFUSED = {f"htone_{name}": status for status, names in {
    "STATE": "tensor_grad parameter_grad module_add_parameter module_add_buffer module_add_child "
             "module_replace_buffer batches_tensor scope_stack_leave trainer_tensor trainer_take_loss trainer_save "
             "ddp_join_end ddp_mark_ready ddp_finish fsdp_mark_ready fsdp_finish grad_scaler_unscale grad_scaler_step "
             "grad_scaler_update optimizer_step optimizer_grad_norm optimizer_clip_grad_norm "
             "statistics_begin_part statistics_end_step statistics_last_spike",
    "INVALID_ARGUMENT": "group_batch group_send group_receive state_dict_text_key state_dict_text "
                        "checkpoint_loaded_name scaled_tensor_scale scaled_load statistics_step "
                        "statistics_tensor statistics_tensor_name statistics_tensor_op statistics_tensor_histogram",
    "UNSUPPORTED": "device_set_option store_create_tcp", "FORMAT": "safetensors_load_memory",
    "IO": "context_load_plugin checkpoint_verify", "TIMEOUT": "store_get"}.items() for name in names.split()}
# Refusals that are None in Python.
ABSENT_IN_PYTHON = {"htone_tensor_grad"}
directories = itertools.count()


def value_of(function: str, argument: dict):
    """The value of a parameter: a number, a text, a list, or the name of an object; None if it is left out."""
    name, role = argument["name"], argument["role"]
    for key in ((function, name), name):
        if key in ARGUMENTS:
            return ARGUMENTS[key]
    if role in ("handle", "handles"):
        member = OTHER_HANDLES.get((function, name), HANDLES[argument["of"]][1])
        return [member] if role == "handles" else member
    found = VALUES.get((function, name)) or VALUES.get(name)
    text = found.valid if found else "0"
    if role == "numbers":
        return ARRAYS[text]
    if name == "directory":
        return f"checkpoint_{next(directories)}"
    if role == "text":
        return text[1:-1] if text.startswith('"') else text.replace("fixture.", "")
    if role == "boolean":
        return text == "1"
    if role == "enum":
        return text
    return float(text) if argument["type"].startswith("double") else int(float(text))
