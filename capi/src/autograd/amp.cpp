#include "halftone/amp.h"

#include "autograd/handles.h"
#include "base/call.h"
#include "ops/dispatch/autocast.h"
#include "scope/scope.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(AutocastClass::kLow) == HTONE_AUTOCAST_LOW);
static_assert(static_cast<int32_t>(AutocastClass::kFp32) == HTONE_AUTOCAST_FP32);
static_assert(static_cast<int32_t>(AutocastClass::kWidest) == HTONE_AUTOCAST_WIDEST);
static_assert(static_cast<int32_t>(AutocastClass::kAsIs) == HTONE_AUTOCAST_AS_IS);

namespace {

Op known_op(const char* op, ArgumentName name) {
  Op found;
  if (!find_op(&require(op, name), &found)) {
    fail(Code::kInvalidArgument, "op", "op=\"%.40s\" is no operation that autocast knows", op);
  }
  return found;
}

AutocastClass known_class(htone_autocast_class value) {
  if (value < HTONE_AUTOCAST_LOW || value > HTONE_AUTOCAST_AS_IS) {
    fail(Code::kInvalidArgument, "autocast_class", "autocast_class=%d is none of HTONE_AUTOCAST_...", value);
  }
  return static_cast<AutocastClass>(value);
}

DType autocast_dtype(htone_dtype dtype) {
  if (dtype != HTONE_BF16 && dtype != HTONE_F16 && dtype != HTONE_F32) {
    fail(Code::kInvalidArgument, "dtype", "dtype=%s, expected bf16, f16 or f32", htone_dtype_name(dtype));
  }
  return static_cast<DType>(dtype);
}

void set_class(AutocastPolicy& policy, Op op, AutocastClass wanted) {
  // Operations that only move elements keep their dtype; a class would change nothing without a word.
  if (is_computing(op)) return policy.set(op, wanted);
  if (wanted == AutocastClass::kAsIs) return;
  fail(Code::kInvalidArgument, "autocast_class", "autocast_class=%d, expected HTONE_AUTOCAST_AS_IS: %s is never cast",
       static_cast<int>(wanted), name_of(op));
}

struct CastBytesResult {
  static constexpr int kParameters = 2;
  int64_t* out_parameters;
  int64_t* out_tensors;

  void require(ArgumentName name) const {
    require_memory(out_parameters, name);
    require_memory(out_tensors, name.next());
  }
  void give(const AutocastPolicy::CastBytes& bytes) const {
    *out_parameters = bytes.parameters.load(std::memory_order_relaxed);
    *out_tensors = bytes.tensors.load(std::memory_order_relaxed);
  }
};

void reset_cast_bytes(AutocastPolicy& policy) {
  policy.cast_bytes().parameters.store(0, std::memory_order_relaxed);
  policy.cast_bytes().tensors.store(0, std::memory_order_relaxed);
}

}  // namespace

htone_status htone_autocast_policy_create(htone_dtype dtype, htone_autocast_policy** out) {
  return Call(make<AutocastPolicy>, as<autocast_dtype>(dtype), out);
}

htone_status htone_autocast_policy_class(htone_autocast_policy* policy, const char* op,
                                         htone_autocast_class* out_class) {
  return Pure(&AutocastPolicy::get, policy, as<known_op>(op), out_class);
}

htone_status htone_autocast_policy_set_class(htone_autocast_policy* policy, const char* op,
                                             htone_autocast_class autocast_class) {
  return Call(set_class, policy, as<known_op>(op), as<known_class>(autocast_class));
}

htone_status htone_autocast_policy_cast_bytes(htone_autocast_policy* policy, int64_t* out_parameters,
                                              int64_t* out_tensors) {
  return Pure(&AutocastPolicy::cast_bytes, policy, CastBytesResult{out_parameters, out_tensors});
}

htone_status htone_autocast_policy_reset_cast_bytes(htone_autocast_policy* policy) {
  return Call(reset_cast_bytes, policy);
}

htone_status htone_autocast_begin(htone_autocast_policy* policy, htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    const Ref<AutocastPolicy> table = hold(policy, "policy").reference();
    open->held = table;
    require_memory(out, "out");
    enter(std::move(open), out);
    scope().autocast = table.get();
  });
}
