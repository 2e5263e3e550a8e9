// The store of ranks that share a file system: a folder with one file for each key. Readers look at the files again and
// again, because another machine's changes wake no process; writers take turns.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "comm/file_store/folder.h"
#include "comm/file_store/key_name.h"
#include "comm/group/groups.h"
#include "comm/guarded.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr size_t kLargestValue = Folder::kLargestFile;
constexpr int64_t kLongestWaitNs = int64_t{1} << 61;  // a later deadline could overflow the clock's type

Pause::Time deadline_after(int64_t timeout_ns) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongestWaitNs));
}

int64_t number_of(const char* key, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  fail(Code::kInvalidArgument, "key", "the value of \"%.64s\" is no number", key);
}

class FileStore final : public KeyValueStore {
 public:
  explicit FileStore(const char* path) : folder_(path) {}

  void destroy() noexcept override { delete this; }

  Status set(const char* key, StoreValue value) noexcept override {
    return call([&] {
      const std::string name = file_name_of(key);
      const FolderLock lock(folder_);
      write(key, name, value);
    });
  }

  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    return call([&] {
      const std::string value = wait_for(key, deadline_after(timeout_ns));
      *out_bytes = value.size();
      if (value.size() > capacity) {
        fail(Code::kBufferTooSmall, "capacity", "the value of \"%.64s\" has %zu bytes, the buffer %zu", key,
             value.size(), capacity);
      }
      if (!value.empty()) std::memcpy(out, value.data(), value.size());
    });
  }

  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override {
    return call([&] {
      const auto deadline = deadline_after(timeout_ns);
      for (int32_t i = 0; i < count; ++i) wait_for(keys[i], deadline);
    });
  }

  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override {
    return call([&] {
      const std::string name = file_name_of(key);
      const FolderLock lock(folder_);
      const std::optional<std::string> value = folder_.read(name);
      int64_t sum = value.has_value() ? number_of(key, *value) : 0;
      if (__builtin_add_overflow(sum, amount, &sum)) {
        fail(Code::kInvalidArgument, "amount", "the counter \"%.64s\" would overflow", key);
      }
      const std::string text = std::to_string(sum);
      folder_.write(name, text.data(), text.size());
      *out_sum = sum;
    });
  }

  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    return call([&] {
      const std::string name = file_name_of(key);
      const FolderLock lock(folder_);
      const bool matches = equals(folder_.read(name), expected);
      if (matches && desired.data != nullptr) write(key, name, desired);
      if (matches && desired.data == nullptr) folder_.remove(name);
      *out_swapped = matches ? 1 : 0;
    });
  }

  Status remove(const char* key, int32_t* out_existed) noexcept override {
    return call([&] {
      const std::string name = file_name_of(key);
      const FolderLock lock(folder_);
      *out_existed = folder_.remove(name) ? 1 : 0;
    });
  }

 private:
  // File functions and sleeps are points where a thread can be cancelled.
  template <class Action>
  static Status call(Action&& action) noexcept {
    const CancellationGuard no_cancellation;
    return guarded(action);
  }

  static bool equals(const std::optional<std::string>& value, StoreValue expected) {
    if (expected.data == nullptr || !value.has_value()) return expected.data == nullptr && !value.has_value();
    return value->size() == expected.bytes && std::memcmp(value->data(), expected.data, expected.bytes) == 0;
  }

  void write(const char* key, const std::string& name, StoreValue value) const {
    if (value.bytes > kLargestValue) {
      fail(Code::kInvalidArgument, "value", "the value of \"%.64s\" has %zu bytes, expected at most %zu", key,
           value.bytes, kLargestValue);
    }
    folder_.write(name, value.data, value.bytes);
  }

  std::string wait_for(const char* key, Pause::Time deadline) const {
    const std::string name = file_name_of(key);
    Pause pause(deadline);
    while (true) {
      if (std::optional<std::string> value = folder_.read(name)) return std::move(*value);
      if (!pause.wait()) fail(Code::kTimeout, "key", "no process set \"%.64s\" until the deadline", key);
    }
  }

  const Folder folder_;
};

}  // namespace

Status create_file_store(const StoreOptions& options, KeyValueStore** out) noexcept {
  *out = nullptr;
  const CancellationGuard no_cancellation;
  return guarded([&] {
    if (options.address == nullptr || options.address[0] == '\0') {
      fail(Code::kInvalidArgument, "address", "a store of files needs an address: the path of a folder");
    }
    *out = new FileStore(options.address);
  });
}

}  // namespace halftone
