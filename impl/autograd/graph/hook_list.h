// The caller's callbacks on a tensor, a parameter or a module, called in the order of registration. A list is safe from
// any thread and may be changed during a round of calls: a hook that is removed is not begun any more, one that is
// added is first called by the next round.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/fork_hook.h"
#include "core/ref.h"

namespace halftone {

// One registration. Its holder may remove the hook.
class Hook : public RefCounted {
 public:
  // Lets go of the callback, here or where its last call under way ends. A second time does nothing.
  virtual void remove() noexcept = 0;
};

// The list behind one object's hooks. The object owns it through Hooks; a registration only shares the empty shell of a
// list whose object is gone.
template <class Signature>
class HookList final : public RefCounted {
 public:
  using Function = std::function<Signature>;

  Ref<Hook> add(Function function) {
    const Ref<Entry> entry = make_ref<Entry>(std::move(function));
    const Ref<Registration> hook = make_ref<Registration>(Ref<HookList>::share(this));
    const std::lock_guard lock(mutex_);
    hook->number = next_number_;
    entries_.emplace(next_number_, entry);
    ++next_number_;
    return hook;
  }

  // Calls `visit` with each function, without a lock.
  template <class Visit>
  void each(Visit&& visit) {
    std::vector<Ref<Entry>> round;
    std::unique_lock lock(mutex_);
    round.reserve(entries_.size());
    for (const auto& [number, entry] : entries_) round.push_back(entry);
    lock.unlock();
    for (const Ref<Entry>& entry : round) {
      if (!entry->is_removed.load(std::memory_order_acquire)) visit(entry->function);
    }
  }

  // Lets go of every function, as removing each hook would.
  void clear() noexcept {
    std::map<uint64_t, Ref<Entry>> removed;
    const std::unique_lock lock(mutex_);
    removed.swap(entries_);
    for (const auto& [number, entry] : removed) entry->is_removed.store(true, std::memory_order_release);
  }

 private:
  struct Entry final : RefCounted {
    explicit Entry(Function given) : function(std::move(given)) {}
    const Function function;
    std::atomic<bool> is_removed{false};
  };

  // Holds no entry: it must not keep a function from being destroyed with the object.
  struct Registration final : Hook {
    explicit Registration(Ref<HookList> owner) : list(std::move(owner)) {}
    void remove() noexcept override { list->remove(number); }
    const Ref<HookList> list;
    uint64_t number = 0;
  };

  // The function is destroyed after the lock: its destroy callback may use the same list.
  void remove(uint64_t number) noexcept {
    Ref<Entry> removed;
    const std::unique_lock lock(mutex_);
    const auto found = entries_.find(number);
    if (found == entries_.end()) return;
    removed = std::move(found->second);
    entries_.erase(found);
    removed->is_removed.store(true, std::memory_order_release);
  }

  ForkMutex mutex_;
  std::map<uint64_t, Ref<Entry>> entries_;  // by number, which is the order of registration
  uint64_t next_number_ = 0;
};

// The hooks of one object, made with the first of them. Adding is the caller's to order against every other use but
// removing. The functions go with the object, although handles of the hooks may be kept.
template <class Signature>
class Hooks {
 public:
  Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  ~Hooks() { clear(); }

  Ref<Hook> add(std::function<Signature> function) {
    if (!list_) list_ = make_ref<HookList<Signature>>();
    return list_->add(std::move(function));
  }
  // Removes every hook. Safe from any thread, as removing one is.
  void clear() noexcept {
    if (list_) list_->clear();
  }
  explicit operator bool() const noexcept { return static_cast<bool>(list_); }
  template <class Visit>
  void each(Visit&& visit) const {
    if (list_) list_->each(visit);
  }

 private:
  Ref<HookList<Signature>> list_;
};

}  // namespace halftone
