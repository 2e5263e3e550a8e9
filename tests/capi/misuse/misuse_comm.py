"""Values of parameters of stores and process groups for the misuse test. The fixture's group has one rank."""

from misuse_values import NOT_FINITE, Values, refuse

KEY = Values('"key"', refuse(['""', '"a\\nb"', '"\\xff"']))
NO_PEER = Values("0", refuse(["-1", "1", "0", "INT32_MAX", "INT32_MIN"]))

# By parameter name, or by (function, name) if one name has several meanings.
COMM = {
    **{(f"htone_store_{verb}", "key"): KEY for verb in ("set", "get", "add", "remove")},
    ("htone_store_set", "size"): Values("sizeof numbers", refuse(["1048577", "SIZE_MAX"])),
    ("htone_store_create_file", "path"): Values("fixture.free_directory", refuse(['""']) + refuse(['"/nowhere/store"'], "IO")),
    ("htone_group_create", "kind"): Values('"single"', refuse(['""', '"no_such_kind"', '"gloo"'], "UNSUPPORTED")),
    **{(f"htone_group_{verb}", "op"): Values("HTONE_REDUCE_SUM", refuse(["0", "5", "-1", "INT32_MAX"]))
       for verb in ("all_reduce", "reduce_scatter")},
    "address": Values('"127.0.0.1:0"'),
    "algorithm": Values("HTONE_ALGORITHM_TREE", refuse(["0", "4", "-1", "INT32_MAX"])),
    "amount": Values("3"),
    "color": Values("0"),
    ("htone_group_split", "key"): Values("0"),
    "operation": Values("HTONE_COLLECTIVE_BROADCAST", refuse(["0", "7", "-1", "INT32_MAX"])),
    "divides_by_active": Values("0"),
    ("htone_fsdp_set_output_dtype", "dtype"): Values("HTONE_BF16", refuse(["0", "-1", "1000", "HTONE_F64", "HTONE_I64"])),
    ("htone_ddp_set_reduction", "callback"): Values("no_reduction", refuse(["NULL"])),
    "peer": NO_PEER,
    ("htone_group_batch", "count"): Values("2", refuse(["(size_t)INT32_MAX + 1"])),
    "peers": Values("two_ranks", refuse(["two_ranks"])),
    "directions": Values("two_directions", refuse(["no_directions"])),
    "reason": Values('"a test"'),
    "root": Values("0", refuse(["-1", "1", "INT32_MAX", "INT32_MIN"])),
    "secret": Values('"secret"'),
    "timeout_seconds": Values("1.0", refuse(["NAN", "-1.0", "-INFINITY"])),
}

# Options structures, as in misuse_options.py.
COMM_OPTIONS = {
    "htone_link_cost": ("link_cost", False),
    "htone_ddp_options": ("ddp_options", True),
    "htone_fsdp_options": ("fsdp_options", True),
    "htone_group_options": ("group_options", True),
    "htone_store_functions": ("store_functions", False),
    "htone_tcp_store_options": ("tcp_store_options", True),
}

COMM_FIELDS = {
    ("htone_link_cost", "size"): ["0", "-1", "4097", "INT32_MAX", "INT32_MIN"],
    ("htone_link_cost", "message_seconds"): NOT_FINITE + ["-1.0", "1e10"],
    ("htone_link_cost", "next_seconds"): NOT_FINITE + ["-1.0", "1e10"],
    ("htone_link_cost", "byte_seconds"): NOT_FINITE + ["-1.0", "1e10"],
    ("htone_link_cost", "is_shared"): None,
    ("htone_ddp_options", "find_unused_parameters"): None,
    ("htone_ddp_options", "first_bucket_bytes"): ["0", "-1", "INT64_MIN"],
    ("htone_ddp_options", "bucket_bytes"): ["0", "-1", "INT64_MIN"],
    ("htone_ddp_options", "broadcast_buffers"): None,
    ("htone_ddp_options", "deterministic"): None,
    ("htone_ddp_options", "compression"): ["0", "6", "-1", "INT32_MAX"],
    ("htone_ddp_options", "error_feedback"): None,
    ("htone_ddp_options", "power_sgd_rank"): None,  # tests/capi/parallel/ddp_test.c: only PowerSGD reads these
    ("htone_ddp_options", "power_sgd_start"): None,
    ("htone_ddp_options", "power_sgd_rate"): None,
    ("htone_ddp_options", "warm_start"): None,
    ("htone_ddp_options", "check_batch_sizes"): None,
    ("htone_fsdp_options", "sharding"): ["0", "4", "-1", "INT32_MAX"],
    ("htone_fsdp_options", "unit_path"): None,
    ("htone_fsdp_options", "unit_kind"): None,
    ("htone_fsdp_options", "unit_elements"): ["0", "-1", "INT64_MIN"],
    ("htone_fsdp_options", "most_units"): ["-1", "INT32_MIN"],
    ("htone_fsdp_options", "deterministic"): None,
    ("htone_fsdp_options", "weight_dtype"): ["0", "-1", "1000", "HTONE_F64", "HTONE_F8E5M2", "HTONE_I64"],
    ("htone_fsdp_options", "reduce_dtype"): ["0", "-1", "1000", "HTONE_F64", "HTONE_F8E4M3", "HTONE_I64"],
    ("htone_fsdp_options", "find_unused_parameters"): None,
    ("htone_fsdp_options", "offload"): ["-1", "3", "INT32_MAX", "HTONE_OFFLOAD_FILE"],
    ("htone_fsdp_options", "offload_path"): None,
    ("htone_fsdp_options", "offload_bytes"): ["0", "-1", "INT64_MIN"],
    ("htone_fsdp_options", "check_batch_sizes"): None,
    ("htone_fsdp_options", "error_feedback"): None,
    ("htone_group_options", "rank"): None,  # tests/capi/comm/group_test.c, as size: a launched group ignores both
    ("htone_group_options", "size"): None,
    ("htone_group_options", "timeout_seconds"): ["NAN", "0.0", "-1.0", "-INFINITY"],
    ("htone_group_options", "heartbeat_seconds"): ["NAN", "-1.0", "-INFINITY"],
    ("htone_group_options", "checks_data"): None,
    ("htone_group_options", "deterministic"): None,
    ("htone_group_options", "reserved"): None,
    ("htone_group_options", "name"): None,
    ("htone_group_options", "interface_name"): None,
    ("htone_store_functions", "user"): None,
    ("htone_store_functions", "set"): ["NULL"],
    ("htone_store_functions", "get"): ["NULL"],
    ("htone_store_functions", "add"): ["NULL"],
    ("htone_store_functions", "compare_set"): ["NULL"],
    ("htone_store_functions", "remove"): ["NULL"],
    ("htone_tcp_store_options", "is_server"): None,
    ("htone_tcp_store_options", "timeout_seconds"): NOT_FINITE[:1] + ["0.0", "-1.0"],
}
