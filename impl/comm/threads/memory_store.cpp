// The store of ranks that are threads of one process: a map under a mutex.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "comm/group/groups.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr int64_t kLongestWaitNs = int64_t{1} << 61;  // a later deadline could overflow the clock's type

std::string text_of(StoreValue value) { return std::string(static_cast<const char*>(value.data), value.bytes); }

// Runs `action`, which may allocate.
template <class Action>
Status guarded(Action&& action) noexcept {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory in the store");
  } catch (const std::length_error&) {
    return Status::failure(Code::kOutOfMemory, "a value is too large for the store");
  }
}

class MemoryStore final : public KeyValueStore {
 public:
  void destroy() noexcept override { delete this; }

  Status set(const char* key, StoreValue value) noexcept override {
    return guarded([&] {
      const std::lock_guard lock(mutex_);
      entries_[key] = text_of(value);
      changed_.notify_all();
      return Status{};
    });
  }

  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    return guarded([&] {
      std::unique_lock lock(mutex_);
      if (Status status = wait_for(lock, key, deadline_after(timeout_ns)); !status.ok()) return status;
      const std::string& value = entries_.find(key)->second;
      *out_bytes = value.size();
      if (value.size() > capacity) {
        return Status::failure(Code::kBufferTooSmall, "the value of \"%.64s\" has %zu bytes, the buffer %zu", key,
                               value.size(), capacity);
      }
      if (!value.empty()) std::memcpy(out, value.data(), value.size());
      return Status{};
    });
  }

  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override {
    return guarded([&] {
      const auto deadline = deadline_after(timeout_ns);
      std::unique_lock lock(mutex_);
      for (int32_t i = 0; i < count; ++i) {
        if (Status status = wait_for(lock, keys[i], deadline); !status.ok()) return status;
      }
      return Status{};
    });
  }

  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override {
    return guarded([&] {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      int64_t sum = 0;
      if (found != entries_.end() && !parse(found->second, &sum)) {
        return Status::failure(Code::kInvalidArgument, "the value of \"%.64s\" is no number", key);
      }
      if (__builtin_add_overflow(sum, amount, &sum)) {
        return Status::failure(Code::kInvalidArgument, "the counter \"%.64s\" would overflow", key);
      }
      entries_[key] = std::to_string(sum);
      *out_sum = sum;
      changed_.notify_all();
      return Status{};
    });
  }

  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    return guarded([&] {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      const bool is_absent = found == entries_.end();
      const bool matches = expected.data == nullptr ? is_absent : !is_absent && found->second == text_of(expected);
      *out_swapped = matches ? 1 : 0;
      if (!matches) return Status{};
      if (desired.data == nullptr) {
        entries_.erase(key);
      } else {
        entries_[key] = text_of(desired);
      }
      changed_.notify_all();
      return Status{};
    });
  }

  Status remove(const char* key, int32_t* out_existed) noexcept override {
    return guarded([&] {
      const std::lock_guard lock(mutex_);
      *out_existed = static_cast<int32_t>(entries_.erase(key));
      return Status{};
    });
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  static Time deadline_after(int64_t timeout_ns) {
    return std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongestWaitNs));
  }

  static bool parse(const std::string& text, int64_t* out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size();
  }

  Status wait_for(std::unique_lock<std::mutex>& lock, const char* key, Time deadline) {
    const CancellationGuard no_cancellation;
    const std::string name = key;
    if (changed_.wait_until(lock, deadline, [&] { return entries_.contains(name); })) return {};
    return Status::failure(Code::kTimeout, "no process set \"%.64s\" until the deadline", key);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> entries_;
};

}  // namespace

Status create_memory_store(const StoreOptions&, KeyValueStore** out) noexcept {
  *out = new (std::nothrow) MemoryStore;
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a store");
}

}  // namespace halftone
