// Handles of contexts and of their devices.
#pragma once

#include "base/objects.h"
#include "runtime/context_device.h"

struct htone_context;
struct htone_device;

namespace halftone::capi {

// A device that a caller has a handle of. It keeps the context alive.
struct DeviceReference final : RefCounted {
  explicit DeviceReference(ContextDevice& owned);
  ~DeviceReference() override;

  const Ref<Context> context;
  ContextDevice& device;
};

template <>
struct HandleTraits<htone_context> : HandleTo<Ref<Context>, HandleType::kContext> {};
template <>
struct HandleTraits<htone_device> : HandleTo<Ref<DeviceReference>, HandleType::kDevice> {};

template <>
struct ObjectAccess<Ref<DeviceReference>> {
  static ContextDevice& value(const Ref<DeviceReference>& reference) noexcept { return reference->device; }
  static void require_usable(const Ref<DeviceReference>&, ArgumentName) noexcept {}
};

}  // namespace halftone::capi
