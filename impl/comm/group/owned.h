// Owning pointers to the interfaces that a plugin may implement.
#pragma once

#include <memory>

#include "comm/group/process_group.h"
#include "comm/store.h"

namespace halftone {

struct Destroy {
  template <class Interface>
  void operator()(Interface* object) const noexcept {
    object->destroy();
  }
};

using OwnedGroup = std::unique_ptr<ProcessGroup, Destroy>;
using OwnedStore = std::unique_ptr<KeyValueStore, Destroy>;
using OwnedWork = std::unique_ptr<Work, Destroy>;

}  // namespace halftone
