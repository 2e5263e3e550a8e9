// The modules of a thread that run inside one another, for paths in messages and traces. Module::run has one on its
// stack.
#pragma once

#include <string>

#include "autograd/scope.h"
#include "core/error.h"
#include "nn/module.h"

namespace halftone::nn {

// The modules of this thread that run inside one another, from the innermost. They need not be children of each other:
// a callback may run any module.
class RunLevel : public RunningLayer {
 public:
  explicit RunLevel(const Module& module)
      : module_(module), innermost_(this), level_(outer() == nullptr ? 1 : outer()->level_ + 1) {
    if (level_ > kMaxModuleDepth) {
      fail(Code::kInvalidArgument, "module",
           "module would be number %d of the modules that run inside one another, expected at most %d",
           kMaxModuleDepth + 1, kMaxModuleDepth);
    }
  }

  const Module& module() const noexcept { return module_; }
  // The level of the module around this one; null for the outermost. Every running layer is a RunLevel.
  const RunLevel* outer() const noexcept { return static_cast<const RunLevel*>(innermost_.outer()); }

  // In traces: the path and the kind, "0.fc1 (linear)"; for the outermost module its kind.
  std::string name() const {
    const std::string names = path();
    return names.empty() ? module_.kind() : names + " (" + module_.kind() + ")";
  }

  std::string place() const override {
    const std::string names = path();
    return names.empty() ? names : "layer " + names + " (" + module_.kind() + ")";
  }

  // The names from the outermost module to this one: "0.fc1"; of one that is held several times, the first. A module
  // that is no child of the one around it begins a path of its own. Empty for the outermost.
  std::string path() const override {
    if (outer() == nullptr) return {};
    const Module& parent = outer()->module_;
    for (size_t i = 0; const Module* child = parent.child(i); ++i) {
      if (child != &module_) continue;
      const std::string lead = outer()->path();
      return lead.empty() ? parent.child_name(i) : lead + "." + parent.child_name(i);
    }
    return {};
  }

  bool is_training() const noexcept override { return module_.is_training(); }

 private:
  const Module& module_;
  const ThreadGuard<&Scope::layer> innermost_;
  const int level_;
};

// A module whose forward runs again, without the modules that were around it the first time.
class RepeatedLevel final : public RunLevel {
 public:
  RepeatedLevel(const Module& module, const std::string& path) : RunLevel(module), path_(path) {}
  std::string path() const override { return path_; }

 private:
  const std::string& path_;
};

}  // namespace halftone::nn
