"""Calls around the valid call of a function in the misuse test, and functions that are exceptions."""

from misuse_handles import CHECKPOINT_PARTS, HANDLES

# Calls that a valid call needs before it (BEFORE), and calls that undo it (AFTER).
BEFORE = {name + "_release": f"assert_ok({name}_retain({member}));" for name, (_, member, _) in HANDLES.items()
          if name != "htone_scope"}
for end in ("htone_scope_end", "htone_scope_end_later"):
    BEFORE[end] = "assert_ok(htone_no_grad_begin(&scope));"
AFTER = {name + "_retain": f"assert_ok({name}_release({member}));" for name, (_, member, _) in HANDLES.items()
         if name != "htone_scope"}
for end in ("htone_scope_end", "htone_scope_end_later"):
    AFTER[end] = "scope = fixture.scope;"
AFTER["htone_scope_stack_enter"] = "assert_ok(htone_scope_stack_leave(stack));"
BEFORE["htone_scope_stack_leave"] = "assert_ok(htone_scope_stack_enter(stack));"
BEFORE["htone_optimizer_add_group"] = "parameters = renew_spare_parameters();"
for part in CHECKPOINT_PARTS:
    BEFORE[f"htone_checkpoint_add_{part}"] = "checkpoint = renew_checkpoint();"
BEFORE["htone_checkpoint_save"] = "checkpoint = renew_checkpoint();"
BEFORE["htone_checkpoint_verify"] = "checkpoint = renew_checkpoint(); assert_ok(htone_checkpoint_save(checkpoint, 0));"
BEFORE["htone_checkpoint_loaded_name"] = "checkpoint = renew_loaded_checkpoint();"
BEFORE["htone_optimizer_load_state_dict"] = "state_dict = renew_optimizer_state();"
BEFORE["htone_grad_scaler_update"] = "assert_ok(htone_grad_scaler_unscale(scaler, fixture.optimizer));"
AFTER["htone_trace_start"] = "assert_ok(htone_trace_stop(fixture.context, fixture.trace_path));"
BEFORE["htone_trace_stop"] = "assert_ok(htone_trace_start(NULL));"
AFTER["htone_statistics_begin_step"] = "assert_ok(htone_statistics_cancel_step(statistics));"
for end in ("htone_statistics_begin_part", "htone_statistics_end_step"):
    BEFORE[end] = "assert_ok(htone_statistics_begin_step(statistics));"
AFTER["htone_statistics_begin_part"] = AFTER["htone_statistics_begin_step"]
AFTER["htone_grad_scaler_unscale"] = "assert_ok(htone_grad_scaler_update(scaler));"
AFTER["htone_grad_scaler_step"] = "assert_ok(htone_grad_scaler_update(scaler));"

BEFORE["htone_store_get"] = 'assert_ok(htone_store_set(store, "key", "value", 6));'
AFTER["htone_store_set"] = 'int32_t existed; assert_ok(htone_store_remove(store, "key", &existed));'
AFTER["htone_store_get"] = AFTER["htone_store_set"]
BEFORE["htone_ddp_finish"] = "mark_gradients();"
AFTER["htone_ddp_join_begin"] = "assert_ok(htone_ddp_join_end(ddp));"
BEFORE["htone_ddp_join_end"] = "assert_ok(htone_ddp_join_begin(ddp, 0));"
BEFORE["htone_fsdp_finish"] = "mark_sharded_gradients();"
BEFORE["htone_fsdp_create_from_parameters"] = "parameters = renew_spare_parameters();"
BEFORE["htone_fsdp_create"] = "module = renew_whole_module();"
AFTER["htone_group_abort"] = "group = renew_group();"
for verb in ("next", "tensor", "set_callback", "set_evaluation", "set_group", "set_optimizer", "set_grad_scaler",
             "set_policy", "set_checkpoint", "set_statistics"):
    BEFORE[f"htone_trainer_{verb}"] = "trainer = renew_trainer();"
BEFORE["htone_trainer_save"] = (
    "trainer = renew_trainer(); assert_ok(htone_trainer_set_checkpoint(trainer, renew_checkpoint()));")
BEFORE["htone_trainer_tensor"] += " htone_trainer_phase phase; assert_ok(htone_trainer_next(trainer, &phase));"
BEFORE["htone_group_describe_operations"] = "group = renew_group();"

# Functions that cannot succeed in this test, with the reason.
NEVER_VALID = {"htone_context_load_plugin": "there is no plugin to load",
               "htone_device_set_option": "the CPU has no options",
               "htone_ddp_mark_ready": "the parameter is of another model",
               "htone_fsdp_mark_ready": "the parameter is of another model",
               "htone_group_receive": "the group has no other rank",
               "htone_group_batch": "the group has no other rank",
               "htone_group_send": "the group has no other rank",
               "htone_trainer_take_loss": "backward would free the graph of the loss",
               "htone_store_create_tcp": "the plugin is not loaded",
               "htone_error_set": "it returns the error that it is given"}
# Failures that are not recorded as the last error.
UNRECORDED = {"htone_error_last"}
# Functions that return no status: with each of these values they must return a string or a number.
PLAIN = {
    "htone_status_name": ["HTONE_OK", "-1", "18", "INT32_MAX", "INT32_MIN"],
    "htone_dtype_name": ["HTONE_F32", "0", "-1", "200", "INT32_MIN"],
    "htone_version": [""],
    "htone_version_string": [""],
}
