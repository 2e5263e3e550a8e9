// Callbacks that a host hangs onto a tensor, a parameter or a module, called in the order of registration. A list is
// safe from any thread and may be changed during a call: a hook that is removed is not begun any more, one that is
// added is first called by the next round.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "core/fork_hook.h"
#include "core/ref.h"

namespace halftone {

// One registration, in the hands of whoever may take it back.
class Hook : public RefCounted {
 public:
  // Lets go of the callback, here or where its last call under way ends. A second time does nothing.
  virtual void remove() noexcept = 0;
};

template <class Signature>
class HookList final : public RefCounted {
 public:
  using Function = std::function<Signature>;

  Ref<Hook> add(Function function) {
    const Ref<Entry> entry = make_ref<Entry>(std::move(function));
    const Ref<Hook> hook = make_ref<Registration>(Ref<HookList>::share(this), entry);
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
    return hook;
  }

  // Calls `visit` with each function, without a lock.
  template <class Visit>
  void each(Visit&& visit) {
    std::unique_lock lock(mutex_);
    const std::vector<Ref<Entry>> round = entries_;
    lock.unlock();
    for (const Ref<Entry>& entry : round) {
      if (!entry->is_removed.load(std::memory_order_acquire)) visit(entry->function);
    }
  }

 private:
  struct Entry final : RefCounted {
    explicit Entry(Function given) : function(std::move(given)) {}
    const Function function;
    std::atomic<bool> is_removed{false};
  };

  struct Registration final : Hook {
    Registration(Ref<HookList> owner, Ref<Entry> registered) : list(std::move(owner)), entry(std::move(registered)) {}
    void remove() noexcept override {
      if (is_removed.exchange(true)) return;
      list->remove(*entry);
      list = nullptr;
      entry = nullptr;
    }
    std::atomic<bool> is_removed{false};
    Ref<HookList> list;
    Ref<Entry> entry;
  };

  void remove(Entry& entry) noexcept {
    entry.is_removed.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Ref<Entry>& listed) { return listed.get() == &entry; });
  }

  ForkMutex mutex_;
  std::vector<Ref<Entry>> entries_;
};

// A list that is made with its first hook; adding is the caller's to order against every other use but removing.
template <class Signature>
class Hooks {
 public:
  Ref<Hook> add(std::function<Signature> function) {
    if (!list_) list_ = make_ref<HookList<Signature>>();
    return list_->add(std::move(function));
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
