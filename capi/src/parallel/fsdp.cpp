#include "halftone/fsdp.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/parameter_set.h"
#include "base/call.h"
#include "comm/group/group.h"
#include "comm/handles.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "parallel/shard/sharded.h"
#include "scope/scope.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;
using parallel::Sharded;

namespace halftone::capi {

template <>
struct HandleTraits<htone_fsdp> : HandleTo<Ref<parallel::Sharded>, HandleType::kFsdp> {};

}  // namespace halftone::capi

namespace {

parallel::Sharding checked_sharding(htone_sharding sharding) {
  if (sharding >= HTONE_SHARDING_OPTIMIZER && sharding <= HTONE_SHARDING_FULL) {
    return static_cast<parallel::Sharding>(sharding);
  }
  fail(Code::kInvalidArgument, "options", "options.sharding=%d, expected one of HTONE_SHARDING_...",
       static_cast<int>(sharding));
}

parallel::Offload checked_offload(const htone_fsdp_options& options) {
  if (options.offload < HTONE_OFFLOAD_NONE || options.offload > HTONE_OFFLOAD_FILE) {
    fail(Code::kInvalidArgument, "options", "options.offload=%d, expected one of HTONE_OFFLOAD_...",
         static_cast<int>(options.offload));
  }
  if (options.offload == HTONE_OFFLOAD_FILE && options.offload_path == nullptr) {
    fail(Code::kInvalidArgument, "options",
         "options.offload_path is NULL, expected a directory for HTONE_OFFLOAD_FILE");
  }
  if (options.offload_bytes < 1) {
    fail(Code::kInvalidArgument, "options", "options.offload_bytes=%lld, expected at least 1",
         static_cast<long long>(options.offload_bytes));
  }
  return static_cast<parallel::Offload>(options.offload);
}

bool is_wire(htone_dtype dtype) { return dtype == HTONE_F32 || dtype == HTONE_BF16 || dtype == HTONE_F16; }

DType checked_weights(htone_dtype dtype) {
  if (is_wire(dtype) || dtype == HTONE_F8E4M3) return static_cast<DType>(dtype);
  fail(Code::kInvalidArgument, "options", "options.weight_dtype=%s, expected f32, bf16, f16 or f8e4m3",
       htone_dtype_name(dtype));
}

DType checked_reduce_dtype(htone_dtype dtype) {
  if (is_wire(dtype) || dtype == HTONE_F8E5M2) return static_cast<DType>(dtype);
  fail(Code::kInvalidArgument, "options", "options.reduce_dtype=%s, expected f32, bf16, f16 or f8e5m2",
       htone_dtype_name(dtype));
}

std::optional<std::string> text_or_none(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

parallel::ShardedOptions checked_options(const htone_fsdp_options& options) {
  if (options.unit_elements < 1) {
    fail(Code::kInvalidArgument, "options", "options.unit_elements=%lld, expected at least 1",
         static_cast<long long>(options.unit_elements));
  }
  if (options.most_units < 0) {
    fail(Code::kInvalidArgument, "options", "options.most_units=%d, expected at least 0", options.most_units);
  }
  const parallel::ShardedOptions checked = {.sharding = checked_sharding(options.sharding),
                                            .units = {.path = text_or_none(options.unit_path),
                                                      .kind = text_or_none(options.unit_kind),
                                                      .least_elements = options.unit_elements},
                                            .weight_dtype = checked_weights(options.weight_dtype),
                                            .wire_dtype = checked_reduce_dtype(options.reduce_dtype),
                                            .has_error_feedback = options.error_feedback != 0,
                                            .finds_unused = options.find_unused_parameters != 0,
                                            .most_units = options.most_units,
                                            .is_deterministic = options.deterministic != 0,
                                            .compares_batches = options.check_batch_sizes != 0,
                                            .offload = checked_offload(options),
                                            .offload_directory = text_or_none(options.offload_path).value_or(""),
                                            .offload_page = options.offload_bytes};
  if (checked.is_deterministic && checked.wire_dtype != DType::kF32) {
    fail(Code::kInvalidArgument, "options", "options.reduce_dtype=%s, expected f32 with options.deterministic",
         htone_dtype_name(options.reduce_dtype));
  }
  return checked;
}

void require_device(const std::vector<NamedParameter>& parameters, const Group& group, const char* argument) {
  if (parameters.empty() || &parameters.front().parameter->device() == &group.device()) return;
  fail(Code::kDevice, argument, "%s is over the memory of another device, or context, than the parameters", argument);
}

// `source` is a module or a list of parameters.
template <class Source>
void shard(Source& source, const std::vector<NamedParameter>& parameters, htone_group* group, htone_group* replicas,
           const htone_fsdp_options* options, htone_fsdp** out) {
  const auto ranks = hold(group, "group");
  const Ref<Group> others = replicas == nullptr ? nullptr : hold(replicas, "replicas").reference();
  require_memory(out, "out");
  const auto given = options_or_default<htone_fsdp_options>(options, HTONE_FSDP_OPTIONS_INIT);
  const parallel::ShardedOptions checked = checked_options(given);
  require_device(parameters, *ranks, "group");
  if (others) require_device(parameters, *others, "replicas");
  if (others && checked.wire_dtype == DType::kF8E5M2) {
    fail(Code::kUnsupported, "replicas",
         "replicas with options.reduce_dtype=f8e5m2, expected NULL: one group averages");
  }
  std::vector<Ref<RefCounted>> owners = {ranks.reference()};
  if (others) owners.push_back(others);
  give_handle(out, Sharded::create(ranks->process_group(), others ? &others->process_group() : nullptr, source, checked,
                                   std::move(owners)));
}

void mark_gradient_ready(Sharded& fsdp, const Parameter& parameter) { fsdp.mark_ready(parameter); }

void set_output_dtype(Sharded& fsdp, htone_dtype dtype) {
  if (!is_wire(dtype)) {
    fail(Code::kInvalidArgument, "dtype", "dtype=%s, expected f32, bf16 or f16", htone_dtype_name(dtype));
  }
  fsdp.set_output_dtype(static_cast<DType>(dtype));
}

// Ends a state of the engine with the scope that holds it.
template <auto begin, auto end>
class HeldState final : public RefCounted {
 public:
  explicit HeldState(Ref<Sharded> sharded) : sharded_(std::move(sharded)) { ((*sharded_).*begin)(); }
  ~HeldState() override { ((*sharded_).*end)(); }

 private:
  const Ref<Sharded> sharded_;
};
using NoSyncState = HeldState<&Sharded::begin_no_sync, &Sharded::end_no_sync>;
using GatheredState = HeldState<&Sharded::begin_gather, &Sharded::end_gather>;

template <class State>
void enter_state(htone_fsdp* fsdp, htone_scope** out) {
  const auto sharded = hold(fsdp, "fsdp");
  Ref<OpenScope> open = open_scope();
  require_memory(out, "out");
  open->held = make_ref<State>(sharded.reference());
  enter(std::move(open), out);
}

}  // namespace

htone_status htone_fsdp_create(htone_module* module, htone_group* group, htone_group* replicas,
                               const htone_fsdp_options* options, htone_fsdp** out) {
  return guard([&] {
    const auto model = hold(module, "module");
    shard(*model, model->parameters(), group, replicas, options, out);
  });
}

htone_status htone_fsdp_create_from_parameters(htone_parameters* parameters, htone_group* group, htone_group* replicas,
                                               const htone_fsdp_options* options, htone_fsdp** out) {
  return guard([&] {
    const auto set = hold(parameters, "parameters");
    shard(set->items(), set->items(), group, replicas, options, out);
  });
}

htone_status htone_fsdp_set_output_dtype(htone_fsdp* fsdp, htone_dtype dtype) {
  return Call(set_output_dtype, fsdp, dtype);
}

htone_status htone_fsdp_mark_ready(htone_fsdp* fsdp, htone_parameter* parameter) {
  return Call(mark_gradient_ready, fsdp, parameter);
}

htone_status htone_fsdp_finish(htone_fsdp* fsdp) { return Call(&Sharded::finish, fsdp); }

htone_status htone_fsdp_unit_count(htone_fsdp* fsdp, size_t* out_count) {
  return Pure([](const Sharded& sharded) { return sharded.unit_count(); }, fsdp, out_count);
}

htone_status htone_fsdp_offloaded_bytes(htone_fsdp* fsdp, int64_t* out_bytes) {
  return Pure([](const Sharded& sharded) { return sharded.offloaded_bytes(); }, fsdp, out_bytes);
}

htone_status htone_fsdp_no_sync_begin(htone_fsdp* fsdp, htone_scope** out) {
  return guard([&] { enter_state<NoSyncState>(fsdp, out); });
}

htone_status htone_fsdp_gather_begin(htone_fsdp* fsdp, htone_scope** out) {
  return guard([&] { enter_state<GatheredState>(fsdp, out); });
}
