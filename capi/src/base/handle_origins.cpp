#include "base/handle_origins.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/handles.h"
#include "core/fork_hook.h"

namespace halftone::capi {

namespace {

constexpr int kMaxFrames = 32;

// Return addresses: in the public function, and in its caller.
struct Origin {
  const void* function = nullptr;
  const void* caller = nullptr;
};

struct Notes {
  ForkMutex mutex;
  std::unordered_map<void*, Origin> origins;  // of dead handles, too, until they are many
  size_t purge_at = 1024;
};

// Never destroyed: handles may be made while the process exits.
Notes& notes() {
  static Notes* const made = new Notes;
  return *made;
}

const void* file_of(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// The frames of this library come first; the outermost of them is the public function.
Origin find_origin() noexcept {
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  const void* const library = file_of(reinterpret_cast<const void*>(&find_origin));
  int i = 0;
  // AddressSanitizer puts a function of its own in front of backtrace.
  while (i < count && file_of(frames[i]) != library) ++i;
  const int first = i;
  while (i < count && file_of(frames[i]) == library) ++i;
  // A program that has the library inside shows no border between the two.
  if (i == first || i == count) return {};
  return {frames[i - 1], frames[i]};
}

std::string place(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0) return "an unknown place";
  const bool has_symbol = info.dli_sname != nullptr;
  const void* const base = has_symbol ? info.dli_saddr : info.dli_fbase;
  char text[512];
  std::snprintf(text, sizeof text, "%s+0x%zx (%s)", has_symbol ? info.dli_sname : "",
                static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(base)),
                info.dli_fname);
  return text;
}

std::string function_name(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_sname != nullptr ? info.dli_sname : "an unknown function";
}

// The line of a handle in the report, before and after the count.
std::pair<std::string, std::string> describe(HandleType type, const Origin& origin) {
  const std::string name = name_with_article(type);
  std::string after;
  if (origin.function != nullptr) {
    after.append(" from ").append(function_name(origin.function)).append(", called at ").append(place(origin.caller));
  }
  return {name.substr(name.find(' ') + 1), after};
}

void purge(Notes& known) {
  std::erase_if(known.origins,
                [](const auto& note) { return HandleTable::instance().type_of(note.first) == HandleType::kNone; });
  known.purge_at = known.origins.size() * 2 + 1024;
}

}  // namespace

void HandleOrigins::set_on(bool on) {
  const std::lock_guard lock(notes().mutex);
  is_on_.store(on, std::memory_order_relaxed);
  if (!on) notes().origins.clear();
}

void HandleOrigins::note(void* handle) noexcept {
  const Origin origin = find_origin();
  try {
    Notes& known = notes();
    const std::lock_guard lock(known.mutex);
    if (known.origins.size() >= known.purge_at) purge(known);
    known.origins.insert_or_assign(handle, origin);
  } catch (const std::bad_alloc&) {
    // The report counts the handle without its origin.
  }
}

std::string HandleOrigins::report() {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  {
    Notes& known = notes();
    const std::lock_guard lock(known.mutex);
    HandleTable::instance().for_each_live([&](void* handle) {
      const auto note = known.origins.find(handle);
      const HandleType type = HandleTable::instance().type_of(handle);
      if (type == HandleType::kNone) return;  // released meanwhile
      ++counts[describe(type, note == known.origins.end() ? Origin{} : note->second)];
    });
  }
  std::string text;
  for (const auto& [line, count] : counts) {
    text.append(line.first).append(": ").append(std::to_string(count)).append(line.second).append("\n");
  }
  return text;
}

}  // namespace halftone::capi
