// A tree of files and directories, the operations that change it, and every state in which a power failure may leave
// it. The model is no kinder than POSIX:
//  * an fsync of a file makes its bytes durable, not its name; an fsync of a directory makes its entries durable;
//  * of the writes since a file's last sync any subset may be lost, the last of them may stand there half, and the file
//    may have its full length with zeros where bytes were lost;
//  * of the changes of a directory since its last sync any subset may be lost; those that are not keep their order, and
//    a rename happens wholly or not at all;
//  * an fsync that failed has made nothing durable, and one that succeeds behind it does not make up for that.
// Plain data; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace halftone {

struct DiskOperation {
  enum Kind { kLink, kUnlink, kRename, kTruncate, kWrite, kSync, kFailedSync };
  Kind kind;
  size_t node = 0;       // the one that is linked, moved, written or synced
  size_t directory = 0;  // where its name stands, for the first three
  std::string name = {};
  std::string new_name = {};  // in the same directory
  uint64_t offset = 0;
  std::string bytes = {};

  bool changes_directory() const noexcept { return kind <= kRename; }
  bool changes_bytes() const noexcept { return kind == kTruncate || kind == kWrite; }
};

struct Disk {
  struct Node {
    bool is_directory = false;
    std::string bytes = {};
    std::map<std::string, size_t> entries = {};
  };
  std::vector<Node> nodes = {{.is_directory = true}};  // 0 is the root, "/"

  void apply(const DiskOperation& operation);
  // Every path that can be reached, with its bytes.
  std::string listing() const;
};

// Calls visit(state) with every state in which a power failure after `operations` may leave what was durably `disk`.
// Nodes that the operations make stand in `disk` already, empty and without a name.
void for_each_crash_state(const Disk& disk, std::span<const DiskOperation> operations,
                          const std::function<void(const Disk&)>& visit);

}  // namespace halftone
