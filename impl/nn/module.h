// A layer: something that maps a tensor to a tensor and may hold parameters and buffers. A module belongs to whoever
// holds a reference. In evaluation mode forward may run from several threads at once; in training mode a layer with
// buffers writes them, and its caller orders the calls, as it orders changes of the mode.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/hook_list.h"
#include "autograd/parameter_set.h"

namespace halftone::nn {

// A tensor of a module's state that no optimizer updates: running statistics.
struct NamedBuffer {
  std::string name;
  Tensor tensor;
};

// How many modules may stand in one another: whoever walks them or gives them back, nests as many calls. The public
// headers tell it.
inline constexpr int kMaxModuleDepth = 256;

// How many modules a walk for names may meet, one that stands in several places in each of them: parts that hold a part
// twice lead to 2^n names by n modules. The public headers tell it, too.
inline constexpr int64_t kMaxModuleWays = int64_t{1} << 18;

class Module : public RefCounted {
 public:
  // What the layer computes. Whoever holds modules calls run, which is forward between the hooks.
  virtual Tensor forward(const Tensor& input) const = 0;
  Tensor run(const Tensor& input) const;

  // Called before forward in turn; what one answers is the input of the next, an undefined tensor keeps it.
  using ForwardPreHook = Tensor(const Module& module, const Tensor& input);
  Hooks<ForwardPreHook>& forward_pre_hooks() noexcept { return forward_pre_hooks_; }
  // The same after forward, for the output; `input` is what forward was given.
  using ForwardHook = Tensor(const Module& module, const Tensor& input, const Tensor& output);
  Hooks<ForwardHook>& forward_hooks() noexcept { return forward_hooks_; }

  // Appends this module's parameters and those of its parts, their names led in by `prefix`.
  virtual void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }

  // The same for buffers.
  virtual void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }

  // Under every name that they have. Throw INVALID_ARGUMENT naming "module" beyond kMaxModuleWays.
  std::vector<NamedParameter> parameters() const;
  std::vector<NamedBuffer> buffers() const;

  // Training is the mode a module is born in. The parts take the same.
  void set_training(bool training);
  bool is_training() const noexcept { return is_training_; }

  // A module of parts answers them in turn, and null behind the last.
  virtual const Module* part(size_t index) const noexcept {
    static_cast<void>(index);
    return nullptr;
  }

 protected:
  // For a module of parts, before it holds new ones. Throws INVALID_ARGUMENT naming `argument` where one of them is or
  // holds this module, or more than kMaxModuleDepth would stand in one another; then nothing has changed.
  void place_parts(std::span<const Ref<Module>> parts, const char* argument) const;

 private:
  // By module, for this one and all that stand in it, how many a walk meets from there; at most kMaxModuleWays + 1.
  using Ways = std::unordered_map<const Module*, int64_t>;
  int64_t count_ways(Ways& known) const;
  void require_names_in_bounds() const;
  void raise_level(int level) const noexcept;

  // At least as many modules as stand around this one, and below those of its parts. A module does not know what holds
  // it, so one that is gone still counts. Atomic: threads may put one module into sequences of their own.
  mutable std::atomic<int> level_{0};
  mutable bool is_training_ = true;  // parts are reached as const
  Hooks<ForwardPreHook> forward_pre_hooks_;
  Hooks<ForwardHook> forward_hooks_;
};

}  // namespace halftone::nn
