// The objects behind the handles of the C API. A call holds the objects that it is given: a callback may release the
// caller's last reference to one of them.
#pragma once

#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "autograd/custom_function.h"
#include "autograd/graph/hook_list.h"
#include "autograd/parameter_set.h"
#include "base/argument_name.h"
#include "base/given_handles.h"
#include "base/handle_origins.h"
#include "base/handles.h"
#include "comm/group_work.h"
#include "core/error.h"
#include "data/batches.h"
#include "halftone/halftone.h"
#include "nn/module.h"
#include "ops/dispatch/autocast.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "parallel/replicate/replicate.h"
#include "parallel/shard/sharded.h"
#include "runtime/recorded_step.h"
#include "tensor/state_dict.h"
#include "tensor/tensor.h"
#include "trainer/checkpoint.h"

namespace halftone::capi {

struct OpenScope;  // base/scope.h

// A device that a caller has a handle of. It keeps the context alive.
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

template <class Function>
class Callback;  // base/callback.h
using StepCallback = Callback<htone_step_fn>;

// A step that a device has recorded, or that is called in each replay.
struct CapturedStep final : RefCounted {
  CapturedStep(ContextDevice& on, Ref<StepCallback> function);
  ~CapturedStep() override;
  Ref<Context> context;
  Ref<StepCallback> step;
  Ref<RecordedStep> recorded;  // null if the device cannot record
  std::atomic<bool> is_running{false};
};

template <class ObjectType, HandleType handle_type>
struct HandleTraits {
  using Object = ObjectType;
  static constexpr HandleType kType = handle_type;
};

// The object behind each handle type. The declarations are never called: overload resolution is the table.
HandleTraits<Ref<Context>, HandleType::kContext> traits_of(htone_context*);
HandleTraits<Ref<DeviceReference>, HandleType::kDevice> traits_of(htone_device*);
HandleTraits<Tensor, HandleType::kTensor> traits_of(htone_tensor*);
HandleTraits<Ref<OpenScope>, HandleType::kScope> traits_of(htone_scope*);
HandleTraits<Ref<AutocastPolicy>, HandleType::kAutocastPolicy> traits_of(htone_autocast_policy*);
HandleTraits<Ref<Parameter>, HandleType::kParameter> traits_of(htone_parameter*);
HandleTraits<Ref<ParameterSet>, HandleType::kParameters> traits_of(htone_parameters*);
HandleTraits<Ref<nn::Module>, HandleType::kModule> traits_of(htone_module*);
HandleTraits<Ref<SharedStateDict>, HandleType::kStateDict> traits_of(htone_state_dict*);
HandleTraits<Ref<optim::Optimizer>, HandleType::kOptimizer> traits_of(htone_optimizer*);
HandleTraits<Ref<ScheduleSettings>, HandleType::kSchedule> traits_of(htone_schedule*);
HandleTraits<Ref<optim::GradScaler>, HandleType::kGradScaler> traits_of(htone_grad_scaler*);
HandleTraits<Ref<optim::Ema>, HandleType::kEma> traits_of(htone_ema*);
HandleTraits<Ref<data::Sampler>, HandleType::kSampler> traits_of(htone_sampler*);
HandleTraits<Ref<data::Batches>, HandleType::kBatches> traits_of(htone_batches*);
HandleTraits<Ref<trainer::Checkpoint>, HandleType::kCheckpoint> traits_of(htone_checkpoint*);
HandleTraits<Ref<CustomFunction>, HandleType::kFunction> traits_of(htone_function*);
HandleTraits<Ref<Hook>, HandleType::kHook> traits_of(htone_hook*);
HandleTraits<Ref<SharedStore>, HandleType::kStore> traits_of(htone_store*);
HandleTraits<Ref<Group>, HandleType::kGroup> traits_of(htone_group*);
HandleTraits<Ref<GroupWork>, HandleType::kWork> traits_of(htone_work*);
HandleTraits<Ref<parallel::Replicate>, HandleType::kDdp> traits_of(htone_ddp*);
HandleTraits<Ref<parallel::Sharded>, HandleType::kFsdp> traits_of(htone_fsdp*);
HandleTraits<Ref<CapturedStep>, HandleType::kGraph> traits_of(htone_graph*);

template <class T>
concept IsHandle = requires(T* handle) {
  traits_of(handle);
};
template <IsHandle Handle>
using TraitsOf = decltype(traits_of(static_cast<Handle*>(nullptr)));
template <IsHandle Handle>
using ObjectOf = typename TraitsOf<Handle>::Object;

// Throws INVALID_HANDLE; the message says what the value is instead.
[[noreturn]] void fail_handle(const void* handle, HandleType expected, ArgumentName argument);
// For an element of an array.
[[noreturn]] void fail_handle_at(const void* handle, HandleType expected, ArgumentName array, size_t index);

template <IsHandle Handle>
HandleEntry& entry_of(Handle* handle, ArgumentName argument) {
  HandleEntry* entry = HandleTable::instance().find(handle, TraitsOf<Handle>::kType);
  if (entry == nullptr) [[unlikely]]
    fail_handle(handle, TraitsOf<Handle>::kType, argument);
  return *entry;
}

// Throws STATE naming `argument`.
[[noreturn]] void fail_released(ArgumentName argument);

// A tensor over weights that ranks share has no memory between their uses, and no content while they are gathered.
inline void require_usable(const Tensor& tensor, ArgumentName argument) {
  const Storage& storage = *tensor.storage();
  if (storage.is_released()) [[unlikely]]
    fail_released(argument);
  if (StorageRestorer* restorer = storage.restorer()) [[unlikely]]
    restorer->restore();
}
template <class Object>
void require_usable(const Object&, ArgumentName) {}

template <IsHandle Handle>
const ObjectOf<Handle>& object_of(Handle* handle, ArgumentName argument) {
  const auto& object = *std::launder(reinterpret_cast<ObjectOf<Handle>*>(entry_of(handle, argument).object));
  require_usable(object, argument);
  return object;
}

// The value that an operation gets for a handle's object: a tensor itself, or the object that a reference leads to.
inline const Tensor& value_of(const Tensor& tensor) noexcept { return tensor; }
inline ContextDevice& value_of(const Ref<DeviceReference>& device) noexcept { return device->device; }
inline StateDict& value_of(const Ref<SharedStateDict>& state) noexcept { return state->state; }
inline optim::ScheduleRule& value_of(const Ref<ScheduleSettings>& schedule) noexcept { return schedule->rule; }
template <class T>
T& value_of(const Ref<T>& object) noexcept {
  return *object;
}

// A reference that keeps the object for as long as it lives. It needs a name: a reference to an object that a temporary
// holds would outlive it.
template <class Object>
class Held {
 public:
  explicit Held(const Object& object) : object_(object) {}

  auto& operator*() const& noexcept { return value_of(object_); }
  auto* operator->() const& noexcept { return &value_of(object_); }
  void operator*() const&& = delete;
  void operator->() const&& = delete;
  Object reference() const noexcept { return object_; }

 private:
  Object object_;
};

template <IsHandle Handle>
Held<ObjectOf<Handle>> hold(Handle* handle, ArgumentName argument) {
  return Held<ObjectOf<Handle>>(object_of(handle, argument));
}

// Makes a handle for the object.
template <IsHandle Handle>
void wrap(Handle** out, ObjectOf<Handle> object) {
  *out = static_cast<Handle*>(HandleTable::instance().add(TraitsOf<Handle>::kType, std::move(object)));
}

// Makes a handle for the object and leaves it to the caller, or to the caller's innermost scope of handles.
template <IsHandle Handle>
void give_handle(Handle** out, ObjectOf<Handle> object) {
  GivenHandles* const scope = GivenHandles::innermost();
  if (scope != nullptr) [[unlikely]]
    scope->reserve(1);
  wrap(out, std::move(object));
  if (scope != nullptr) [[unlikely]]
    scope->note(*out);
  if (HandleOrigins::is_on()) [[unlikely]]
    HandleOrigins::note(*out);
}

template <IsHandle Handle>
void retain_handle(Handle* handle, ArgumentName argument) {
  HandleTable::instance().retain(entry_of(handle, argument));
}
template <IsHandle Handle>
void release_handle(Handle* handle, ArgumentName argument) {
  if (handle == nullptr) return;
  HandleTable::instance().release<ObjectOf<Handle>>(entry_of(handle, argument));
}

}  // namespace halftone::capi
