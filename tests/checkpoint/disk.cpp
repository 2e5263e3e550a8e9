#include "checkpoint/disk.h"

#include <algorithm>

namespace halftone {
namespace {

void list_node(const Disk& disk, size_t node, const std::string& path, std::string* text) {
  *text += path + "=" + disk.nodes[node].bytes + "\n";
  for (const auto& [name, child] : disk.nodes[node].entries) list_node(disk, child, path + "/" + name, text);
}

void write_bytes(std::string* bytes, uint64_t offset, const std::string& data, size_t count) {
  if (bytes->size() < offset + count) bytes->resize(offset + count);
  bytes->replace(offset, count, data, 0, count);
}

// The possible contents of one file after a power failure, given its writes since the last sync.
std::vector<std::string> possible_bytes(const std::string& durable, const std::vector<const DiskOperation*>& writes) {
  std::vector<std::string> results;
  for (uint32_t kept = 0; kept < 1u << writes.size(); ++kept) {
    std::string whole = durable, torn = durable;
    for (size_t i = 0; i < writes.size(); ++i) {
      if ((kept >> i & 1) == 0) continue;
      const bool is_last = kept >> i == 1;
      const DiskOperation& write = *writes[i];
      if (write.kind == DiskOperation::kTruncate) {
        whole.clear();
        torn.clear();
      } else {
        write_bytes(&whole, write.offset, write.bytes, write.bytes.size());
        write_bytes(&torn, write.offset, write.bytes, is_last ? write.bytes.size() / 2 : write.bytes.size());
      }
    }
    results.push_back(whole);
    results.push_back(torn);
  }
  size_t length = durable.size();
  for (const DiskOperation* write : writes) length = std::max<size_t>(length, write->offset + write->bytes.size());
  results.push_back(durable + std::string(length - durable.size(), '\0'));
  return results;
}

class CrashStates {
 public:
  CrashStates(const Disk& disk, std::span<const DiskOperation> operations,
              const std::function<void(const Disk&)>& visit)
      : durable_(disk), visit_(visit) {
    for (size_t i = 0; i < operations.size(); ++i) take(operations[i], operations.subspan(i + 1));
  }

  void visit_all() {
    Disk state = durable_;
    visit_files(writes_.begin(), &state);
  }

 private:
  using Writes = std::map<size_t, std::vector<const DiskOperation*>>;  // by node, in order

  void take(const DiskOperation& operation, std::span<const DiskOperation> later) {
    const size_t changed = operation.changes_directory() ? operation.directory : operation.node;
    const auto sync = std::find_if(later.begin(), later.end(), [&](const DiskOperation& other) {
      return other.node == changed && (other.kind == DiskOperation::kSync || other.kind == DiskOperation::kFailedSync);
    });
    const bool is_durable = sync != later.end() && sync->kind == DiskOperation::kSync;
    // After a failed sync, durable changes may follow changes that are not durable; all keep their order.
    if (operation.changes_directory() && (!is_durable || !changes_.empty())) {
      changes_.push_back(&operation);
      can_be_lost_.push_back(!is_durable);
    } else if (is_durable) {
      durable_.apply(operation);
    } else if (operation.changes_bytes()) {
      writes_[operation.node].push_back(&operation);
    }
  }

  void visit_files(Writes::const_iterator file, Disk* state) const {
    if (file == writes_.end()) return visit_directories(*state);
    for (std::string& bytes : possible_bytes(durable_.nodes[file->first].bytes, file->second)) {
      state->nodes[file->first].bytes = std::move(bytes);
      visit_files(std::next(file), state);
    }
  }

  void visit_directories(const Disk& files) const {
    const auto losable = std::count(can_be_lost_.begin(), can_be_lost_.end(), true);
    for (uint32_t lost = 0; lost < 1u << losable; ++lost) {
      Disk state = files;
      uint32_t left = lost;
      for (size_t i = 0; i < changes_.size(); ++i) {
        if (!can_be_lost_[i] || (left & 1) == 0) state.apply(*changes_[i]);
        if (can_be_lost_[i]) left >>= 1;
      }
      visit_(state);
    }
  }

  Disk durable_;
  std::vector<const DiskOperation*> changes_;  // of directories, beginning with the first one that is not durable
  std::vector<bool> can_be_lost_;              // one per change
  Writes writes_;                              // the writes that are not durable
  const std::function<void(const Disk&)>& visit_;
};

}  // namespace

void Disk::apply(const DiskOperation& operation) {
  auto& entries = nodes[operation.directory].entries;
  std::string& bytes = nodes[operation.node].bytes;
  switch (operation.kind) {
    case DiskOperation::kLink:
      entries[operation.name] = operation.node;
      break;
    case DiskOperation::kUnlink:
      entries.erase(operation.name);
      break;
    case DiskOperation::kRename:
      entries.erase(operation.name);
      entries[operation.new_name] = operation.node;
      break;
    case DiskOperation::kTruncate:
      bytes.clear();
      break;
    case DiskOperation::kWrite:
      write_bytes(&bytes, operation.offset, operation.bytes, operation.bytes.size());
      break;
    case DiskOperation::kSync:
    case DiskOperation::kFailedSync:
      break;
  }
}

std::string Disk::listing() const {
  std::string text;
  list_node(*this, 0, "", &text);
  return text;
}

void for_each_crash_state(const Disk& disk, std::span<const DiskOperation> operations,
                          const std::function<void(const Disk&)>& visit) {
  CrashStates(disk, operations, visit).visit_all();
}

}  // namespace halftone
