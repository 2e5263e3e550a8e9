// An operation of a group with the memory that it uses. Used by Exchange, by one thread at a time.
#pragma once

#include <utility>
#include <vector>

#include "comm/group/owned.h"
#include "core/error.h"
#include "tensor/tensor.h"

namespace halftone::parallel {

// The destructor waits for the operation.
class StartedWork {
 public:
  // start(&work) returns a Status. Throws it.
  template <class Start>
  StartedWork(ContextDevice& device, std::vector<Tensor> memory, Start&& start)
      : device_(&device), memory_(std::move(memory)) {
    Work* started = nullptr;
    check(start(&started));
    work_ = OwnedWork(started);
  }
  StartedWork(StartedWork&&) = default;
  StartedWork& operator=(StartedWork&&) = delete;
  ~StartedWork();

  // Work that this thread queues from now on runs after the operation. Throws the operation's error.
  void wait();

 private:
  ContextDevice* device_;
  std::vector<Tensor> memory_;
  OwnedWork work_;
};

}  // namespace halftone::parallel
