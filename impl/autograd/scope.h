// The modes of a thread: whether operations record, and autocast. They are a part of its state (core/thread.h); guards
// save and restore them. ops/dispatch/record.h and ops/dispatch/autocast.h act on them; kernels never see them.
#pragma once

#include <string>

#include "core/thread.h"

namespace halftone {

// The layer that a thread computes, for messages. nn::Module::run has one on its stack.
class RunningLayer {
 public:
  // "layer 0.fc1 (linear)"; empty for the outermost module.
  virtual std::string place() const = 0;
  // "0.fc1"; empty for the outermost module.
  virtual std::string path() const = 0;
  virtual bool is_training() const noexcept = 0;

 protected:
  ~RunningLayer() = default;
};

inline Scope& scope() noexcept { return thread().scope; }

// Changes modes until the end of a block.
class ScopeGuard {
 public:
  ScopeGuard() noexcept { ++scope().guards; }
  ~ScopeGuard() { --scope().guards; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  const ThreadGuard<&modes> modes_;
};

}  // namespace halftone
