// A tree of files and directories, the operations that change it, and every state in which a power failure may leave
// it. The model guarantees no more than POSIX:
//  * an fsync of a file makes its bytes durable, but not its name; an fsync of a directory makes its entries durable;
//  * any subset of the writes since a file's last sync may be lost, the last one may be written only in part, and the
//    file may have its full length with zeros in place of lost bytes;
//  * any subset of the changes to a directory since its last sync may be lost; the others keep their order, and a
//    rename happens completely or not at all;
//  * an fsync that failed has made nothing durable, and a later fsync that succeeds does not repair this.
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
  size_t node = 0;       // the node that is linked, moved, written or synced
  size_t directory = 0;  // for the first three kinds: the directory with its name
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
  // Every reachable path with its bytes.
  std::string listing() const;
};

// Calls visit(state) with every state in which a power failure after `operations` may leave the disk, if `disk` was
// durable before. Nodes that the operations create are already in `disk`, empty and without a name.
void for_each_crash_state(const Disk& disk, std::span<const DiskOperation> operations,
                          const std::function<void(const Disk&)>& visit);

}  // namespace halftone
