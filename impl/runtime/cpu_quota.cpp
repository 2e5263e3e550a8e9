#include "runtime/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <string_view>

namespace halftone {
namespace {

constexpr size_t kTextCapacity = 4096;

// Removes the text up to `separator` from the front of `rest` and returns it.
std::string_view take_until(char separator, std::string_view* rest) {
  const size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return part;
}

// Parses a positive number, with or without a line end. Any other text, such as "max" or "-1", returns 0: no bound.
int64_t positive(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

int whole_cpus(int64_t quota, int64_t period) {
  if (quota == 0 || period == 0) return 0;
  // Rounded up in a way that cannot overflow.
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, INT_MAX));
}

int smaller_bound(int a, int b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// Reads `root``group`/`file` and returns its length; 0 if it cannot be read.
size_t read_group_file(const Io& io, const char* root, std::string_view group, const char* file, char* text) {
  char path[kTextCapacity];
  const int length =
      std::snprintf(path, sizeof path, "%s%.*s/%s", root, static_cast<int>(group.size()), group.data(), file);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return 0;
  return static_cast<size_t>(std::max<int64_t>(read_text(io, path, text, kTextCapacity), 0));
}

// Version 2: "QUOTA PERIOD" in microseconds, or "max PERIOD".
int read_version2(const Io& io, std::string_view group) {
  char text[kTextCapacity];
  std::string_view rest(text, read_group_file(io, "/sys/fs/cgroup", group, "cpu.max", text));
  const int64_t quota = positive(take_until(' ', &rest));
  return whole_cpus(quota, positive(rest));
}

// Version 1: quota and period are in files of their own; a quota of -1 means none.
int read_version1(const Io& io, std::string_view group) {
  char text[kTextCapacity];
  const auto read = [&](const char* file) {
    return positive(std::string_view(text, read_group_file(io, "/sys/fs/cgroup/cpu", group, file, text)));
  };
  const int64_t quota = read("cpu.cfs_quota_us");
  return quota == 0 ? 0 : whole_cpus(quota, read("cpu.cfs_period_us"));
}

// From the process's own group up to the root. In a container the upper directories of the path are often not mounted;
// the container's quota is then in the root's file.
int smallest_on_path(const Io& io, std::string_view group, int (*read)(const Io&, std::string_view)) {
  int bound = 0;
  while (!group.empty() && group.back() == '/') group.remove_suffix(1);
  while (!group.empty()) {
    bound = smaller_bound(bound, read(io, group));
    group = group.substr(0, group.find_last_of('/') == std::string_view::npos ? 0 : group.find_last_of('/'));
  }
  return smaller_bound(bound, read(io, group));
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    if (take_until(',', &controllers) == "cpu") return true;
  }
  return false;
}

}  // namespace

int cpu_quota(const Io& io) noexcept {
  char text[kTextCapacity];
  const int64_t length = read_text(io, "/proc/self/cgroup", text, sizeof text);
  std::string_view rest(text, static_cast<size_t>(std::max<int64_t>(length, 0)));
  int bound = 0;
  while (!rest.empty()) {  // lines "number:controllers:group"; version 2 names no controllers
    std::string_view group = take_until('\n', &rest);
    take_until(':', &group);
    const std::string_view controllers = take_until(':', &group);
    if (controllers.empty()) {
      bound = smaller_bound(bound, smallest_on_path(io, group, read_version2));
    } else if (lists_cpu(controllers)) {
      bound = smaller_bound(bound, smallest_on_path(io, group, read_version1));
    }
  }
  return bound;
}

}  // namespace halftone
