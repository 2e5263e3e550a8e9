#include "halftone/amp.h"

#include "arguments.h"
#include "guard.h"
#include "scope.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(AutocastClass::kLow) == HTONE_AUTOCAST_LOW);
static_assert(static_cast<int32_t>(AutocastClass::kFp32) == HTONE_AUTOCAST_FP32);
static_assert(static_cast<int32_t>(AutocastClass::kWidest) == HTONE_AUTOCAST_WIDEST);
static_assert(static_cast<int32_t>(AutocastClass::kAsIs) == HTONE_AUTOCAST_AS_IS);

namespace {

Op checked_op(const char* op) {
  Op found;
  if (!find_op(&require(op, "op"), &found)) {
    fail(Code::kInvalidArgument, "op", "op=\"%.40s\" is no operation that autocast knows", op);
  }
  return found;
}

AutocastClass checked_class(htone_autocast_class value) {
  if (value < HTONE_AUTOCAST_LOW || value > HTONE_AUTOCAST_AS_IS) {
    fail(Code::kInvalidArgument, "autocast_class", "autocast_class=%d is none of HTONE_AUTOCAST_...", value);
  }
  return static_cast<AutocastClass>(value);
}

}  // namespace

htone_status htone_autocast_policy_create(htone_dtype dtype, htone_autocast_policy** out) {
  return guard([&] {
    if (dtype != HTONE_BF16 && dtype != HTONE_F16 && dtype != HTONE_F32) {
      fail(Code::kInvalidArgument, "dtype", "dtype=%s, expected bf16, f16 or f32", htone_dtype_name(dtype));
    }
    wrap(out, make_ref<AutocastPolicy>(static_cast<DType>(dtype)));
  });
}

htone_status htone_autocast_policy_retain(htone_autocast_policy* policy) {
  return guard([&] { retain_handle(policy, "policy"); });
}

htone_status htone_autocast_policy_release(htone_autocast_policy* policy) {
  return guard([&] { release_handle(policy, "policy"); });
}

htone_status htone_autocast_policy_get(htone_autocast_policy* policy, const char* op, htone_autocast_class* out_class) {
  return guard([&] {
    const AutocastPolicy& table = *unwrap(policy, "policy");
    const Op row = checked_op(op);
    require(out_class, "out_class") = static_cast<htone_autocast_class>(table.get(row));
  });
}

htone_status htone_autocast_policy_set(htone_autocast_policy* policy, const char* op,
                                       htone_autocast_class autocast_class) {
  return guard([&] {
    AutocastPolicy& table = *unwrap(policy, "policy");
    const Op row = checked_op(op);
    const AutocastClass wanted = checked_class(autocast_class);
    if (!is_computing(row)) {
      if (wanted == AutocastClass::kAsIs) return;
      fail(Code::kInvalidArgument, "autocast_class",
           "autocast_class=%d, expected HTONE_AUTOCAST_AS_IS: %s is never cast", autocast_class, op);
    }
    table.set(row, wanted);
  });
}

htone_status htone_autocast_policy_cast_bytes(htone_autocast_policy* policy, int64_t* out_parameters,
                                              int64_t* out_tensors) {
  return guard([&] {
    const AutocastPolicy::CastBytes& bytes = unwrap(policy, "policy")->cast_bytes();
    require(out_parameters, "out_parameters");
    require(out_tensors, "out_tensors") = bytes.tensors.load(std::memory_order_relaxed);
    *out_parameters = bytes.parameters.load(std::memory_order_relaxed);
  });
}

htone_status htone_autocast_policy_reset_cast_bytes(htone_autocast_policy* policy) {
  return guard([&] {
    AutocastPolicy::CastBytes& bytes = unwrap(policy, "policy")->cast_bytes();
    bytes.parameters.store(0, std::memory_order_relaxed);
    bytes.tensors.store(0, std::memory_order_relaxed);
  });
}

htone_status htone_autocast_begin(htone_autocast_policy* policy, htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    open->policy = unwrap(policy, "policy");
    const AutocastPolicy* table = open->policy.get();
    wrap(out, std::move(open));
    ++scope().depth;
    scope().autocast = table;
  });
}
