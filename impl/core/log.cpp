#include "core/log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

#include "core/foreign_function.h"
#include "core/fork_hook.h"
#include "core/ref.h"

namespace halftone {

namespace {

struct LogReceiver final : RefCounted {
  LogReceiver(LogFunction function, void* data) : callback(function), user(data) {}
  ~LogReceiver() override {
    if (destroy) destroy(user);
  }

  ForeignFunction<void(const char*, void*)> callback;
  void* user;
  ForeignFunction<void(void*)> destroy;
};

// Never destroyed: other threads may still log while the process exits.
struct Slot {
  ForkMutex mutex;
  Ref<LogReceiver> receiver;
};
Slot& slot() {
  static Slot* const slot = new Slot;
  return *slot;
}

}  // namespace

void set_log_receiver(LogFunction callback, void* user, void (*destroy)(void*)) {
  Ref<LogReceiver> next;
  if (callback != nullptr) next = make_ref<LogReceiver>(callback, user);
  Slot& current = slot();
  if (next) next->destroy = destroy;
  std::unique_lock lock(current.mutex);
  std::swap(current.receiver, next);
  lock.unlock();
  // `next` now holds the old callback; its destroy runs here, or when its last in-flight message finishes.
}

void log_warning(const char* format, ...) noexcept {
  Slot& current = slot();
  std::unique_lock lock(current.mutex);
  const Ref<LogReceiver> receiver = current.receiver;
  lock.unlock();
  if (!receiver) return;
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  receiver->callback(message, receiver->user);
}

}  // namespace halftone
