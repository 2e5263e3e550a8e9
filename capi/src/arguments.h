// Arguments of the C API: handles to objects and back, pointers, numbers and options. Everything that is wrong throws
// an Error that names the parameter as the C header does.
#pragma once

#include <cmath>
#include <cstring>

#include "autograd/custom_function.h"
#include "autograd/hook_list.h"
#include "autograd/parameter_set.h"
#include "backend/context.h"
#include "core/error.h"
#include "core/shape.h"
#include "data/batches.h"
#include "halftone/halftone.h"
#include "handles.h"
#include "nn/module.h"
#include "ops/autocast.h"
#include "ops/ops.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "scope.h"
#include "tensor/state_dict.h"
#include "tensor/tensor.h"
#include "trainer/checkpoint.h"

namespace halftone::capi {

// A device for a host: keeps its context alive.
struct DeviceReference final : RefCounted {
  explicit DeviceReference(ContextDevice& owned) : context(Ref<Context>::share(owned.context)), device(owned) {}
  Ref<Context> context;
  ContextDevice& device;
};

struct ScheduleSettings final : RefCounted {
  explicit ScheduleSettings(const Schedule& schedule) : rule{schedule, nullptr} {}
  explicit ScheduleSettings(const optim::ScheduleRule& value) : rule(value) {}
  optim::ScheduleRule rule;
};

struct SharedStateDict final : RefCounted {
  SharedStateDict() = default;
  explicit SharedStateDict(StateDict value) : state(std::move(value)) {}
  StateDict state;
};

// What each C type stands for.
template <class Handle>
struct HandleTraits;

template <class ObjectType, HandleType handle_type>
struct HandleTraitsOf {
  using Object = ObjectType;
  static constexpr HandleType kType = handle_type;
};

template <>
struct HandleTraits<htone_context> : HandleTraitsOf<Ref<Context>, HandleType::kContext> {};
template <>
struct HandleTraits<htone_device> : HandleTraitsOf<Ref<DeviceReference>, HandleType::kDevice> {};
template <>
struct HandleTraits<htone_tensor> : HandleTraitsOf<Tensor, HandleType::kTensor> {};
template <>
struct HandleTraits<htone_scope> : HandleTraitsOf<Ref<OpenScope>, HandleType::kScope> {};
template <>
struct HandleTraits<htone_autocast_policy> : HandleTraitsOf<Ref<AutocastPolicy>, HandleType::kAutocastPolicy> {};
template <>
struct HandleTraits<htone_parameter> : HandleTraitsOf<Ref<Parameter>, HandleType::kParameter> {};
template <>
struct HandleTraits<htone_parameters> : HandleTraitsOf<Ref<ParameterSet>, HandleType::kParameters> {};
template <>
struct HandleTraits<htone_module> : HandleTraitsOf<Ref<nn::Module>, HandleType::kModule> {};
template <>
struct HandleTraits<htone_state_dict> : HandleTraitsOf<Ref<SharedStateDict>, HandleType::kStateDict> {};
template <>
struct HandleTraits<htone_optimizer> : HandleTraitsOf<Ref<optim::Optimizer>, HandleType::kOptimizer> {};
template <>
struct HandleTraits<htone_schedule> : HandleTraitsOf<Ref<ScheduleSettings>, HandleType::kSchedule> {};
template <>
struct HandleTraits<htone_grad_scaler> : HandleTraitsOf<Ref<optim::GradScaler>, HandleType::kGradScaler> {};
template <>
struct HandleTraits<htone_ema> : HandleTraitsOf<Ref<optim::Ema>, HandleType::kEma> {};
template <>
struct HandleTraits<htone_sampler> : HandleTraitsOf<Ref<data::Sampler>, HandleType::kSampler> {};
template <>
struct HandleTraits<htone_batches> : HandleTraitsOf<Ref<data::Batches>, HandleType::kBatches> {};
template <>
struct HandleTraits<htone_checkpoint> : HandleTraitsOf<Ref<trainer::Checkpoint>, HandleType::kCheckpoint> {};
template <>
struct HandleTraits<htone_function> : HandleTraitsOf<Ref<CustomFunction>, HandleType::kFunction> {};
template <>
struct HandleTraits<htone_hook> : HandleTraitsOf<Ref<Hook>, HandleType::kHook> {};

// Throws INVALID_HANDLE telling what the value is instead.
[[noreturn]] void fail_handle(const void* handle, HandleType expected, const char* argument);

template <class Handle>
Slot& slot_of(Handle* handle, const char* argument) {
  Slot* slot = HandleTable::instance().find(handle, HandleTraits<Handle>::kType);
  if (slot == nullptr) [[unlikely]]
    fail_handle(handle, HandleTraits<Handle>::kType, argument);
  return *slot;
}

// The object behind a handle; borrowed for the call.
template <class Handle>
auto& unwrap(Handle* handle, const char* argument) {
  using Object = typename HandleTraits<Handle>::Object;
  return *std::launder(reinterpret_cast<Object*>(slot_of(handle, argument).object));
}

// The same, held: for calls that run code of the host, which may give the caller's last reference back meanwhile.
template <class Handle>
auto hold(Handle* handle, const char* argument) {
  return unwrap(handle, argument);
}

// The same for an optional argument: an empty reference for NULL.
template <class Handle>
auto unwrap_optional(Handle* handle, const char* argument) {
  using Object = typename HandleTraits<Handle>::Object;
  return handle == nullptr ? Object() : unwrap(handle, argument);
}

// Throws INVALID_ARGUMENT for NULL.
template <class T>
T& require(T* pointer, const char* argument) {
  if (pointer == nullptr) fail(Code::kInvalidArgument, argument, "%s is NULL", argument);
  return *pointer;
}
inline void require_memory(const void* pointer, const char* argument) {
  if (pointer == nullptr) fail(Code::kInvalidArgument, argument, "%s is NULL", argument);
}

// Makes a handle for the object and hands it to the caller.
template <class Handle>
void wrap(Handle** out, typename HandleTraits<Handle>::Object object) {
  require(out, "out");
  *out = static_cast<Handle*>(HandleTable::instance().add(HandleTraits<Handle>::kType, std::move(object)));
}

template <class Handle>
void retain_handle(Handle* handle, const char* argument) {
  HandleTable::instance().retain(slot_of(handle, argument));
}
template <class Handle>
void release_handle(Handle* handle, const char* argument) {
  if (handle == nullptr) return;
  HandleTable::instance().release<typename HandleTraits<Handle>::Object>(slot_of(handle, argument));
}

// A number of handles, optional where there are none.
template <class Handle>
auto unwrap_array(size_t count, Handle* const* handles, const char* argument) {
  if (count > 0) require(handles, argument);
  std::vector<typename HandleTraits<Handle>::Object> objects;
  for (size_t i = 0; i < count; ++i) objects.push_back(unwrap(handles[i], argument));
  return objects;
}

Shape checked_shape_argument(int32_t ndim, const int64_t* shape);
// The same for a shape that may hold -1: its sizes are the operation's to check.
Shape open_shape_argument(int32_t ndim, const int64_t* shape);
// Dimensions to reduce; 0 of them is legal.
Shape checked_dims_argument(int32_t dim_count, const int64_t* dims);
DType checked_dtype(htone_dtype dtype, const char* argument);
// f64, f32, f16 or bf16; `shown` names the value in the message, "options.dtype" for a field.
DType checked_weight_dtype(htone_dtype dtype, const char* argument, const char* shown);
// A name that stands in one-line messages and in a file's header: 1 to 4096 bytes of UTF-8 without control characters.
void require_name(const char* name);
void require_finite(double value, const char* argument);
// In [0, 1].
void require_probability(double value, const char* argument);
ops::GeluForm checked_gelu_form(htone_gelu_form form);

// Copies a string with its end into the caller's buffer; BUFFER_TOO_SMALL names `capacity`.
void copy_text(const char* text, char* out_text, const char* text_argument, size_t capacity, size_t* out_length);
// Copies a list of sizes likewise.
void copy_sizes(const Shape& sizes, int32_t capacity, int64_t* out_sizes, const char* sizes_argument,
                int32_t* out_ndim);

// The caller's options over the defaults: missing fields of an older caller keep their default, unknown bytes of a
// newer one must be zero.
void copy_options(void* defaults, size_t size, const void* options, const char* argument);
template <class Options>
Options options_or_default(const Options* options, Options defaults, const char* argument = "options") {
  if (options != nullptr) copy_options(&defaults, sizeof defaults, options, argument);
  return defaults;
}

// Writes a result structure, as many bytes of it as the caller's struct_size knows. `text` is where a text at its end
// begins, so that one cut short still has an end.
template <class Result>
void copy_result(Result result, Result* out, const char* argument, size_t text = sizeof(Result)) {
  const uint32_t size = require(out, argument).struct_size;
  if (size < 16 || size > 4096) {
    fail(Code::kInvalidArgument, argument, "%s.struct_size=%u, expected sizeof of the structure", argument, size);
  }
  result.struct_size = size;
  if (size > text && size < sizeof result) reinterpret_cast<char*>(&result)[size - 1] = '\0';
  std::memcpy(out, &result, size < sizeof result ? size : sizeof result);
}

}  // namespace halftone::capi
