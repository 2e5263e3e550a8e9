// Finds list entries by name without a second copy of the names: an open-addressing hash table of entry numbers with
// linear probing, at most half full. Names may come from a hostile file, so the hash depends on a key that the file's
// author does not know. Used by StateDict, which may hold a million names. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/keyed_hash.h"

namespace halftone {

class NameIndex {
 public:
  NameIndex() = default;  // uses the process's key
  explicit NameIndex(HashKey key) : key_(key) {}

  // is_named(number, name) returns whether the entry of that number has that name.
  template <class IsNamed>
  const uint32_t* find(std::string_view name, const IsNamed& is_named) const noexcept {
    if (slots_.empty()) return nullptr;
    for (size_t place = first_place(name);; place = (place + 1) & mask()) {
      const uint32_t& slot = slots_[place];
      if (slot == kFree) return nullptr;
      if (is_named(slot, name)) return &slot;
    }
  }

  // Makes room, so that the next add() cannot fail. name_of(number) returns the name of an entry in the table.
  template <class NameOf>
  void prepare_add(const NameOf& name_of) {
    if (2 * (count_ + 1) <= slots_.size()) return;
    std::vector<uint32_t> old(slots_.empty() ? kFirstSize : 2 * slots_.size(), kFree);
    old.swap(slots_);
    for (uint32_t number : old) {
      if (number != kFree) put(name_of(number), number);
    }
  }

  // REQUIRES: prepare_add() was called, and the name is not in the table.
  void add(std::string_view name, uint32_t number) noexcept {
    put(name, number);
    ++count_;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr size_t kFirstSize = 16;

  size_t mask() const noexcept { return slots_.size() - 1; }
  size_t first_place(std::string_view name) const noexcept { return keyed_hash(key_, name) & mask(); }

  void put(std::string_view name, uint32_t number) noexcept {
    size_t place = first_place(name);
    while (slots_[place] != kFree) place = (place + 1) & mask();
    slots_[place] = number;
  }

  std::vector<uint32_t> slots_;  // their number is a power of two
  size_t count_ = 0;
  HashKey key_ = process_hash_key();
};

}  // namespace halftone
