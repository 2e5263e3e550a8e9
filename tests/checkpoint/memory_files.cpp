#include "checkpoint/memory_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace halftone {

const char* name_of(IoCall call) noexcept {
  constexpr const char* kNames[] = {"open",   "close",  "read",           "write", "size", "sync",
                                    "rename", "remove", "make_directory", "list",  "lock"};
  return kNames[static_cast<int>(call)];
}

// ---- The functions of the table

struct MemoryFiles::Table {
  static int64_t open(MemoryFiles& files, const char* path, int32_t flags) {
    const Place place = files.find(path);
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!place.node && (!place.directory || (flags & O_CREAT) == 0)) return -ENOENT;
    if (place.node) {
      if ((flags & O_EXCL) != 0) return -EEXIST;
      const bool is_directory = files.disk_.nodes[*place.node].is_directory;
      if (is_directory && writes) return -EISDIR;
      if (!is_directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
    }
    const size_t node = place.node ? *place.node : files.make_node(place, false);
    const bool truncates = (flags & O_TRUNC) != 0 && !files.disk_.nodes[node].bytes.empty();
    if (truncates) files.perform({.kind = DiskOperation::kTruncate, .node = node});
    files.handles_.push_back({.node = node});
    return static_cast<int64_t>(files.handles_.size() - 1 + kFirstFile);
  }

  static int64_t read(MemoryFiles& files, int64_t file, uint64_t offset, void* buffer, size_t size) {
    const std::string& bytes = files.disk_.nodes[files.handle(file).node].bytes;
    if (offset >= bytes.size()) return 0;
    const size_t moved =
        bytes.copy(static_cast<char*>(buffer), files.moves_single_bytes_ ? 1 : size, static_cast<size_t>(offset));
    if (files.flipped_read_ >= 0 && files.flipped_read_-- == 0) *static_cast<unsigned char*>(buffer) ^= 1;
    return static_cast<int64_t>(moved);
  }

  static int64_t write(MemoryFiles& files, int64_t file, uint64_t offset, const void* buffer, size_t size) {
    const std::string bytes(static_cast<const char*>(buffer), files.moves_single_bytes_ ? 1 : size);
    files.perform({.kind = DiskOperation::kWrite, .node = files.handle(file).node, .offset = offset, .bytes = bytes});
    return static_cast<int64_t>(bytes.size());
  }

  static int64_t size(MemoryFiles& files, int64_t file) {
    const Disk::Node& node = files.disk_.nodes[files.handle(file).node];
    return node.is_directory ? -EINVAL : static_cast<int64_t>(node.bytes.size());
  }

  static int64_t rename(MemoryFiles& files, const char* from, const char* to) {
    const Place source = files.find(from), target = files.find(to);
    if (!source.node || !target.directory) return -ENOENT;
    if (source.directory != target.directory) return -EXDEV;
    if (target.node && files.disk_.nodes[*target.node].is_directory) return -EISDIR;
    files.perform({.kind = DiskOperation::kRename,
                   .node = *source.node,
                   .directory = *source.directory,
                   .name = source.name,
                   .new_name = target.name});
    return 0;
  }

  static int64_t remove(MemoryFiles& files, const char* path) {
    const Place place = files.find(path);
    if (!place.node) return -ENOENT;
    if (!files.disk_.nodes[*place.node].entries.empty()) return -ENOTEMPTY;
    files.perform(
        {.kind = DiskOperation::kUnlink, .node = *place.node, .directory = *place.directory, .name = place.name});
    return 0;
  }

  static int64_t make_directory(MemoryFiles& files, const char* path) {
    const Place place = files.find(path);
    if (place.node) return -EEXIST;
    if (!place.directory) return -ENOENT;
    files.make_node(place, true);
    return 0;
  }

  static int64_t list(MemoryFiles& files, const char* path, int64_t (*take)(void*, const char*), void* taker) {
    const Place place = files.find(path);
    if (!place.node) return -ENOENT;
    const auto entries = files.disk_.nodes[*place.node].entries;
    for (const auto& [name, node] : entries) {
      if (const int64_t answer = take(taker, name.c_str()); answer < 0) return answer;
    }
    return 0;
  }

  static int64_t lock(MemoryFiles& files, int64_t file) {
    Handle& mine = files.handle(file);
    for (const Handle& other : files.handles_) {
      if (&other != &mine && other.is_open && other.is_locked && other.node == mine.node) return -EWOULDBLOCK;
    }
    mine.is_locked = true;
    return 0;
  }

  // Calls action(files), unless the call must fail.
  template <class Action>
  static int64_t run(void* user, IoCall call, Action&& action) {
    auto& files = *static_cast<MemoryFiles*>(user);
    const int64_t error = files.refusal(call);
    return error < 0 ? error : action(files);
  }
};

Io MemoryFiles::table() noexcept {
  return {
      .user = this,
      .open = [](void* user, const char* path, int32_t flags, uint32_t) -> int64_t {
        return Table::run(user, IoCall::kOpen, [&](MemoryFiles& files) { return Table::open(files, path, flags); });
      },
      // Even if close fails, the descriptor is free, as on Linux.
      .close = [](void* user, int64_t file) -> int64_t {
        auto& files = *static_cast<MemoryFiles*>(user);
        files.handle(file).is_open = false;
        return files.refusal(IoCall::kClose);
      },
      .read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
        return Table::run(user, IoCall::kRead,
                          [&](MemoryFiles& files) { return Table::read(files, file, offset, buffer, size); });
      },
      .write = [](void* user, int64_t file, uint64_t offset, const void* buffer, size_t size) -> int64_t {
        return Table::run(user, IoCall::kWrite,
                          [&](MemoryFiles& files) { return Table::write(files, file, offset, buffer, size); });
      },
      .size = [](void* user, int64_t file) -> int64_t {
        return Table::run(user, IoCall::kSize, [&](MemoryFiles& files) { return Table::size(files, file); });
      },
      .sync = [](void* user, int64_t file) -> int64_t {
        auto& files = *static_cast<MemoryFiles*>(user);
        int64_t error = files.refusal(IoCall::kSync);
        if (error == 0 && files.disk_.nodes[files.handle(file).node].is_directory) error = -files.directory_sync_error_;
        if (error == -EINTR) return error;
        files.perform(
            {.kind = error < 0 ? DiskOperation::kFailedSync : DiskOperation::kSync, .node = files.handle(file).node});
        return error;
      },
      .rename = [](void* user, const char* from, const char* to) -> int64_t {
        return Table::run(user, IoCall::kRename, [&](MemoryFiles& files) { return Table::rename(files, from, to); });
      },
      .remove = [](void* user, const char* path) -> int64_t {
        return Table::run(user, IoCall::kRemove, [&](MemoryFiles& files) { return Table::remove(files, path); });
      },
      .make_directory = [](void* user, const char* path, uint32_t) -> int64_t {
        return Table::run(user, IoCall::kMakeDirectory,
                          [&](MemoryFiles& files) { return Table::make_directory(files, path); });
      },
      .list = [](void* user, const char* path, int64_t (*take)(void*, const char*), void* taker) -> int64_t {
        return Table::run(user, IoCall::kList,
                          [&](MemoryFiles& files) { return Table::list(files, path, take, taker); });
      },
      .lock = [](void* user, int64_t file) -> int64_t {
        return Table::run(user, IoCall::kLock, [&](MemoryFiles& files) { return Table::lock(files, file); });
      },
  };
}

// ---- The disk

int64_t MemoryFiles::open_files() const noexcept {
  return std::count_if(handles_.begin(), handles_.end(), [](const Handle& handle) { return handle.is_open; });
}

void MemoryFiles::set_fault(std::optional<IoFault> fault) {
  fault_ = fault;
  calls_ = 0;
  has_failed_ = false;
}

int64_t MemoryFiles::refusal(IoCall call) {
  if (interrupts_) {
    was_interrupted_ = !was_interrupted_;
    if (was_interrupted_) return -EINTR;
  }
  if (!fault_ || (fault_->call && fault_->call != call)) return 0;
  const int64_t number = calls_++;
  if (number < fault_->at || (number > fault_->at && !fault_->for_ever)) return 0;
  has_failed_ = true;
  return -fault_->error;
}

MemoryFiles::Place MemoryFiles::find(const std::string& path) const {
  Place place{.directory = {}, .name = {}, .node = 0};
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) {
      place = {.directory = place.node, .name = path.substr(begin, end - begin), .node = {}};
      if (!place.directory) return place;
      const auto& entries = disk_.nodes[*place.directory].entries;
      const auto found = entries.find(place.name);
      if (found != entries.end()) place.node = found->second;
    }
    begin = end + 1;
  }
  return place;
}

void MemoryFiles::perform(DiskOperation operation) {
  disk_.apply(operation);
  journal_.push_back(std::move(operation));
}

size_t MemoryFiles::make_node(const Place& place, bool is_directory) {
  const size_t node = disk_.nodes.size();
  disk_.nodes.push_back({.is_directory = is_directory});
  perform({.kind = DiskOperation::kLink, .node = node, .directory = *place.directory, .name = place.name});
  return node;
}

}  // namespace halftone
