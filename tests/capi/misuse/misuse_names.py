"""Values of names, paths and texts for the misuse test."""

from misuse_values import PART_NAME, Values, refuse
from misuse_handles import CHECKPOINT_PARTS

# By parameter name, or by (function, name) if one name has several meanings.
NAMES = {
    "directory": Values("fixture.free_directory", refuse(['""']) + refuse(['"/nowhere/run"'], "IO")),
    "equation": Values('"ij,jk->ik"', refuse(['""', '"ij"', '"ij,jk->il"', '"i1,jk"', '"ij,jk-ik"', '"ij,jk->ii"'])),
    "name": Values('"cpu"', refuse(['"gpu"', '""', '"cpu:99"'], "DEVICE")),
    ("htone_function_create", "name"): Values('"square"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    ("htone_module_add_parameter", "name"): PART_NAME,
    ("htone_module_add_buffer", "name"): PART_NAME,
    ("htone_module_add_child", "name"): PART_NAME,
    ("htone_module_replace_child", "name"): Values('"0"', refuse(['""', '"a\\nb"', '"1"', '"0.0"'])),
    ("htone_module_replace_parameter", "name"): Values('"weight"', refuse(['""', '"a\\nb"', '"gain"', '"0.weight"'])),
    ("htone_module_replace_buffer", "name"): Values('"seen"', refuse(['""', '"a\\nb"', '"unseen"'])),
    ("htone_module_remove", "name"): Values('"0"', refuse(['""', '"a\\nb"', '"1"', '"0.0"'])),
    ("htone_state_dict_add", "name"): Values('"another"', refuse(['""', '"a\\nb"', '"\\xff"', '"weight"'])),
    ("htone_scaled_save", "name"): Values('"another"', refuse(['""', '"a\\nb"', '"\\xff"', '"codes8"'])),
    ("htone_scaled_load", "name"): Values('"codes8"', refuse(['""', '"no_such_name"'])),
    ("htone_state_dict_find", "name"): Values('"weight"', refuse(['""', '"no_such_name"'])),
    ("htone_parameter_create", "name"): Values('"host"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    ("htone_parameter_create_new", "name"): Values('"own"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    **{(f"htone_checkpoint_add_{part}", "name"): Values('"part"', refuse(['""', '"a/b"', '"random"']))
       for part in CHECKPOINT_PARTS},
    "op": Values('"matmul"', refuse(['"no_such_operation"', '""'])),
    "path": Values('"/nowhere/plugin.so"', refuse(['"/nowhere/plugin.so"'], "IO")),
    ("htone_module_find", "path"): Values('"0"', refuse(['"1"', '"0.0"', '"."'])),
    ("htone_module_forward_child", "path"): Values('"0"', refuse(['"1"', '"0.0"', '"."'])),
    ("htone_module_find_parameter", "name"): Values('"weight"', refuse(['""', '"no_such_name"', '"0.weight"'])),
    "names": Values("two_names", refuse(["equal_names", "dotted_names", "null_names"])),
    ("htone_statistics_write_to", "path"): Values("fixture.trace_path", refuse(['""']) + refuse(['"/nowhere/file"'], "IO")),
    **{("htone_statistics_add_fallback", name): Values('"bf16"', refuse(['""', '"a\\nb"', '"\\xff"']))
       for name in ("module", "before", "after")},
    ("htone_trace_stop", "path"): Values("fixture.trace_path", refuse(['""'])),
    ("htone_safetensors_save", "path"): Values("fixture.safetensors_path", refuse(['""']) + refuse(['"/nowhere/file"'], "IO")),
    ("htone_safetensors_load", "path"): Values("fixture.safetensors_path",
                                                 refuse(['""']) + refuse(['"/nowhere/file"', '"/"'], "IO")),
    ("htone_module_set_recompute_matching", "path"): Values('"*"'),
    ("htone_module_set_recipe_matching", "path"): Values('"*"'),
    ("htone_module_clear_recipe_matching", "path"): Values('"*"'),
    "kind": Values('"linear"'),
    "pattern": Values('"*"'),
    "message": Values('"text"'),
    ("htone_safetensors_open", "path"): Values("fixture.safetensors_path",
                                                 refuse(['""']) + refuse(['"/nowhere/file"', '"/"'], "IO")),
    ("htone_module_load_file", "path"): Values("fixture.safetensors_path",
                                               refuse(['""']) + refuse(['"/nowhere/file"', '"/"'], "IO")),
    "key": Values('"key"', refuse(['""', '"a\\nb"', '"\\xff"'])),
    ("htone_state_dict_text", "key"): Values('"format"', refuse(['""', '"no_such_key"'])),
    ("htone_state_dict_set_text", "value"): Values('"text"', refuse(['"\\xff"'])),
}
