#include "backend/context.h"

#include <algorithm>

#include "backend/registry.h"
#include "backend/threads/pool_width.h"
#include "core/error.h"

namespace halftone {
namespace {

struct DestroyDevice {
  void operator()(Device* device) const noexcept { device->destroy(); }
};

}  // namespace

ContextDevice::~ContextDevice() {
  allocator.reset();  // gives its memory back to the device
  device->destroy();
}

Context::Context(const ContextOptions& options)
    : options_(options), pool_(pool_width(options.num_threads, options.io)) {}

Context::~Context() = default;

ContextDevice& Context::device(const char* text) {
  const DeviceName name(text);
  const std::lock_guard lock(mutex_);
  for (const auto& entry : devices_) {
    if (DeviceName(entry->device->name()) == name) return *entry;
  }
  return add_device(name);
}

ContextDevice& Context::add_device(const DeviceName& name) {
  devices_.reserve(devices_.size() + 1);
  std::unique_ptr<Device, DestroyDevice> device(
      create_device(name, {.pool = pool_, .memory = options_.memory, .plugins = plugins_}));
  if (!(DeviceName(device->name()) == name)) {
    fail(Code::kDevice, "name", "the backend answered the device \"%s\" for \"%s:%d\"", device->name(), name.kind,
         name.index);
  }
  auto allocator = std::make_unique<CachingAllocator>(*device);
  auto entry = std::make_unique<ContextDevice>(this, device.get(), std::move(allocator));
  device.release();
  devices_.push_back(std::move(entry));
  return *devices_.back();
}

void Context::load_plugin(const char* path) {
  const Plugin plugin = open_plugin(path);
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(plugins_.begin(), plugins_.end(), [&](const Plugin& other) { return other.table == plugin.table; });
  if (!known) plugins_.push_back(plugin);
}

}  // namespace halftone
