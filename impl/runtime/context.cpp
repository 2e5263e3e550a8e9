#include "runtime/context.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/call_log.h"
#include "core/error.h"
#include "runtime/forward_keys.h"
#include "runtime/key_tape.h"
#include "runtime/plugin_loader.h"
#include "runtime/pool_width.h"
#include "runtime/recorded_keys.h"
#include "runtime/registry.h"

namespace halftone {
namespace {

struct DestroyDevice {
  void operator()(Device* device) const noexcept { device->destroy(); }
};

// secure_getenv: a setuid program must not trust its environment.
bool pools_objects() noexcept {
  const char* text = secure_getenv("HALFTONE_OBJECT_POOL");
  return text == nullptr || std::strcmp(text, "0") != 0;
}

}  // namespace

Context::Context(const ContextOptions& options)
    : object_pool_(pools_objects()),
      options_(options),
      num_threads_(pool_width(options.num_threads, options.io)),
      seed_(options.seed) {}

Context::~Context() { take_scratch(); }

PhiloxKey Context::next_key() {
  if (const PhiloxKey* known = KeyTape::replayed()) return *known;
  PhiloxKey key;
  if (ForwardKeys* const keys = ForwardKeys::of(*this); keys == nullptr) {
    key = key_of_context();
  } else if (keys->is_changing() && RecordedKeys::word_of(*this) != nullptr) {
    fail(Code::kUnsupported, "", "a captured forward cannot draw random numbers where ranks train together");
  } else if (keys->is_by_microbatch()) {
    const uint64_t draw = keys->draws();
    key = keys->next_of_microbatch(seed());
    CallLog::on_failure([kept = Ref<ForwardKeys>::share(keys), draw]() noexcept { kept->return_draw(draw); });
  } else {
    key = keys->of_rank(key_of_context());
  }
  KeyTape::record(key);
  return key;
}

// If another thread has taken the next sequence meanwhile, this one stays taken: resetting the counter would hand out
// the other thread's sequence a second time.
PhiloxKey Context::key_of_context() {
  const uint64_t sequence = next_sequence();
  CallLog::on_failure(
      [context = Ref<Context>::share(this), sequence]() noexcept { context->return_sequences(sequence, 1); });
  return {.seed = seed(), .sequence = sequence, .replayed = RecordedKeys::word_of(*this)};
}

ContextDevice& Context::device(const char* text) {
  const DeviceName name(text);
  std::unique_lock lock(mutex_);
  if (ContextDevice* known = find_device(name)) return *known;
  lock.unlock();
  load_plugin_for(name);
  // The device is created without the lock: its allocator registers a fork hook, and a fork takes the two locks in the
  // opposite order. If two threads create the same device, the second returns the first one's; its own is destroyed
  // after the lock is released.
  std::unique_ptr<ContextDevice> made = make_device(name, plugins());
  const std::lock_guard relock(mutex_);
  if (ContextDevice* known = find_device(name)) return *known;
  devices_.push_back(std::move(made));
  return *devices_.back();
}

// If the file is missing, the error about the device names it.
void Context::load_plugin_for(const DeviceName& name) {
  const char* plugin = plugin_for_devices(name.kind);
  if (plugin == nullptr) return;
  const std::vector<Plugin> loaded = plugins();
  const bool is_served = std::any_of(loaded.begin(), loaded.end(), [&](const Plugin& other) {
    return other.table->device_name != nullptr && std::strcmp(other.table->device_name, name.kind) == 0;
  });
  const std::string path = path_beside_library(plugin);
  if (!is_served && access(path.c_str(), F_OK) == 0) load_plugin(path.c_str());
}

ContextDevice* Context::find_device(const DeviceName& name) const {
  for (const auto& entry : devices_) {
    if (DeviceName(entry->device->name()) == name) return entry.get();
  }
  return nullptr;
}

std::unique_ptr<ContextDevice> Context::make_device(const DeviceName& name, const std::vector<Plugin>& plugins) {
  std::unique_ptr<Device, DestroyDevice> device(
      create_device(name, {.num_threads = num_threads_, .memory = options_.memory, .plugins = plugins}));
  if (!(DeviceName(device->name()) == name)) {
    fail(Code::kDevice, "name", "the backend returned the device \"%s\" for \"%s:%d\"", device->name(), name.kind,
         name.index);
  }
  // A device without the option computes in FP32 anyway.
  if (options_.allows_tf32) (void)device->set_option(DeviceOption::kTf32Products, 1);
  auto allocator = std::make_unique<CachingAllocator>(*device);
  auto entry = std::make_unique<ContextDevice>(this, device.get(), std::move(allocator));
  device.release();
  return entry;
}

void Context::load_plugin(const char* path) {
  const Plugin plugin = open_plugin(path);
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(plugins_.begin(), plugins_.end(), [&](const Plugin& other) { return other.table == plugin.table; });
  if (!known) plugins_.push_back(plugin);
}

std::vector<Plugin> Context::plugins() const {
  const std::lock_guard lock(mutex_);
  return plugins_;
}

}  // namespace halftone
