#include "halftone/ddp.h"

#include <string>

#include "autograd/parameter_set.h"
#include "base/call.h"
#include "base/lent_handle.h"
#include "comm/group/group.h"
#include "comm/handles.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "parallel/ddp_compression.h"
#include "parallel/replicate/replicate.h"
#include "parallel/replicate/sync_batch_norm.h"
#include "parallel/rounds/averages.h"
#include "scope/callback.h"
#include "scope/scope.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;
using parallel::Replicate;

namespace halftone::capi {

template <>
struct HandleTraits<htone_ddp> : HandleTo<Ref<parallel::Replicate>, HandleType::kDdp> {};

}  // namespace halftone::capi

namespace {

int64_t bucket_bytes(int64_t bytes, const char* name) {
  if (bytes >= 1) return bytes;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected at least 1", name, static_cast<long long>(bytes));
}

parallel::ReplicateOptions checked_options(const htone_ddp_options& options) {
  if (options.deterministic != 0 && options.compression != HTONE_DDP_COMPRESSION_NONE) {
    fail(Code::kInvalidArgument, "options",
         "options.compression=%d, expected HTONE_DDP_COMPRESSION_NONE with options.deterministic",
         static_cast<int>(options.compression));
  }
  return {.bucket_sizes = {.first = bucket_bytes(options.first_bucket_bytes, "first_bucket_bytes"),
                           .others = bucket_bytes(options.bucket_bytes, "bucket_bytes")},
          .finds_unused = options.find_unused_parameters != 0,
          .broadcasts_buffers = options.broadcast_buffers != 0,
          .is_deterministic = options.deterministic != 0,
          .compares_batches = options.check_batch_sizes != 0,
          .hook = hook_of(options)};
}

void require_device(const std::vector<NamedParameter>& parameters, const Group& group) {
  if (parameters.empty() || &parameters.front().parameter->device() == &group.device()) return;
  fail(Code::kDevice, "group", "group is over the memory of another device, or context, than the parameters");
}

// `source` is a module or a list of parameters.
template <class Source>
Ref<Replicate> replicate(const std::vector<NamedParameter>& parameters, Source source, const Ref<Group>& group,
                         const htone_ddp_options* options) {
  const auto given = options_or_default<htone_ddp_options>(options, HTONE_DDP_OPTIONS_INIT);
  const parallel::ReplicateOptions checked = checked_options(given);
  require_device(parameters, *group);
  return make_ref<Replicate>(group->process_group(), std::move(source), checked, group);
}

void mark_ready(Replicate& ddp, const Parameter& parameter) { ddp.mark_ready(parameter); }
void finish(Replicate& ddp) { ddp.finish(); }
void begin_join(Replicate& ddp, int32_t divides_by_active) { ddp.begin_join(divides_by_active != 0); }
void end_join(Replicate& ddp) { ddp.end_join(); }

// Ends no_sync with the scope that holds it.
class NoSync final : public RefCounted {
 public:
  explicit NoSync(Ref<Replicate> ddp) : replica_(std::move(ddp)) { replica_->begin_no_sync(); }
  ~NoSync() override { replica_->end_no_sync(); }

 private:
  const Ref<Replicate> replica_;
};

// A callback that returns the error of its operation of the group did not fail itself.
void reduce_by(const Callback<htone_ddp_reduce_fn>& reduce, htone_tensor* bucket, size_t index) {
  const uint64_t errors_before = error_count();
  try {
    reduce.call("a reduction of gradients", bucket, index);
  } catch (const Error& error) {
    const auto status = static_cast<htone_status>(error.native_code());
    const bool is_group =
        status == HTONE_ERROR_PEER_LOST || status == HTONE_ERROR_TIMEOUT || status == HTONE_ERROR_COMM;
    const bool is_call = error_count() != errors_before && last_error().status == status;
    if (error.code() != Code::kCallback || !is_group || !is_call) throw;
    const std::string message = last_error().message;
    throw Error(static_cast<Code>(status), 0, "", message.c_str());
  }
}

}  // namespace

htone_status htone_ddp_create(htone_module* module, htone_group* group, const htone_ddp_options* options,
                              htone_ddp** out) {
  return guard([&] {
    const auto model = hold(module, "module");
    const auto ranks = hold(group, "group");
    require_memory(out, "out");
    give_handle(out, replicate(model->parameters(), model.reference(), ranks.reference(), options));
  });
}

htone_status htone_ddp_create_from_parameters(htone_parameters* parameters, htone_group* group,
                                              const htone_ddp_options* options, htone_ddp** out) {
  return guard([&] {
    const auto set = hold(parameters, "parameters");
    const auto ranks = hold(group, "group");
    require_memory(out, "out");
    give_handle(out, replicate(set->items(), set->items(), ranks.reference(), options));
  });
}

htone_status htone_ddp_set_reduction(htone_ddp* ddp, htone_ddp_reduce_fn callback, void* user,
                                     void (*destroy)(void* user)) {
  return guard([&] {
    const auto replica = hold(ddp, "ddp");
    const Ref<Callback<htone_ddp_reduce_fn>> reduce = make_callback(callback, user);
    replica->set_hook(parallel::callers_average([reduce](const Tensor& bucket, size_t index) {
      const LentHandle<htone_tensor> lent(bucket);
      reduce_by(*reduce, lent.get(), index);
    }));
    reduce->set_destroy(destroy);
  });
}

htone_status htone_ddp_no_sync_begin(htone_ddp* ddp, htone_scope** out) {
  return guard([&] {
    const auto replica = hold(ddp, "ddp");
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    // If a later step fails, `open` goes, and no_sync ends with it.
    open->held = make_ref<NoSync>(replica.reference());
    enter(std::move(open), out);
  });
}

htone_status htone_ddp_join_begin(htone_ddp* ddp, int32_t divides_by_active) {
  return Call(begin_join, ddp, divides_by_active);
}

htone_status htone_ddp_join_end(htone_ddp* ddp) { return Call(end_join, ddp); }

htone_status htone_ddp_check_weights(htone_ddp* ddp) { return Call(&Replicate::check_weights, ddp); }

htone_status htone_ddp_mark_ready(htone_ddp* ddp, htone_parameter* parameter) {
  return Call(mark_ready, ddp, parameter);
}

htone_status htone_ddp_finish(htone_ddp* ddp) { return Call(finish, ddp); }

htone_status htone_module_synchronize_batch_norm(htone_module* module, htone_group* group) {
  return guard([&] {
    const auto model = hold(module, "module");
    const auto ranks = hold(group, "group");
    parallel::synchronize_batch_norm(*model, ranks->process_group(), ranks.reference());
  });
}
