// Deletes objects that own others of their kind without recursion: graphs may be a million nodes deep, and a thread may
// have 64 KiB of stack. An object that dies while another of this thread is being deleted waits in a list. Used by the
// `dispose` of RefCounted classes.
#pragma once

#include <utility>

namespace halftone {

// `next_dead` is a member of Object for the list's use alone, and its destructor is open to the list.
template <class Object>
class DeadList {
 public:
  static void destroy(Object* object) noexcept {
    object->next_dead_ = std::exchange(first_, object);
    if (std::exchange(is_running_, true)) return;
    while (first_ != nullptr) {
      Object* dead = first_;
      first_ = dead->next_dead_;
      delete dead;  // may put what it owns onto the list
    }
    is_running_ = false;
  }

 private:
  static thread_local constinit inline Object* first_ = nullptr;
  static thread_local constinit inline bool is_running_ = false;
};

}  // namespace halftone
