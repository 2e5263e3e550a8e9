// A layer: something that maps a tensor to a tensor and may hold parameters and buffers. A module belongs to whoever
// holds a reference. In evaluation mode forward may run from several threads at once; in training mode a layer with
// buffers writes them, and its caller orders the calls, as it orders changes of the mode.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/hook_list.h"
#include "autograd/parameter_set.h"

namespace halftone::nn {

// A tensor of a module's state that no optimizer updates: running statistics.
struct NamedBuffer {
  std::string name;
  Tensor tensor;
};

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

  std::vector<NamedParameter> parameters() const {
    std::vector<NamedParameter> result;
    append_parameters("", result);
    return result;
  }
  std::vector<NamedBuffer> buffers() const {
    std::vector<NamedBuffer> result;
    append_buffers("", result);
    return result;
  }

  // Training is the mode a module is born in. A module of parts passes the mode on.
  virtual void set_training(bool training) noexcept { is_training_ = training; }
  bool is_training() const noexcept { return is_training_; }

  // Whether `other` is this module or one of its parts. A module of parts asks them.
  virtual bool contains(const Module& other) const noexcept { return this == &other; }

 private:
  bool is_training_ = true;
  Hooks<ForwardPreHook> forward_pre_hooks_;
  Hooks<ForwardHook> forward_hooks_;
};

}  // namespace halftone::nn
