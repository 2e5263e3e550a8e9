// The end of graphs at a parameter: the accumulator of its gradient, which all leaf tensors of the parameter share. A
// graph refers to it and not to the parameter, because the parameter keeps leaf tensors and would otherwise keep itself
// alive. If the parameter is gone, this is a plain leaf: a graph still delivers its gradient here.
#pragma once

#include <string>

#include "autograd/leaf/accumulate_grad.h"

namespace halftone {

// A parameter, as its leaf knows it. The leaf deletes the object, after the last reference to the object is gone.
class LeafOwner : public RefCounted {
 protected:
  friend class ParameterLeaf;
  ~LeafOwner() override = default;
};

class ParameterLeaf final : public AccumulateGrad {
 public:
  ParameterLeaf(std::string name, const Tensor& master);

  // The parameter's, also after the parameter is gone.
  const char* name() const noexcept override { return name_.c_str(); }
  const char* parameter_name() const noexcept override { return name_.c_str(); }
  ParameterLeaf* as_parameter_leaf() noexcept override { return this; }

  // Null if the parameter is gone. Any thread, even while another one releases the parameter.
  Ref<LeafOwner> owner() const noexcept;
  // Takes over the object. Called once, at the end of the parameter's constructor.
  void set_owner(LeafOwner* owner) noexcept { owner_ = owner; }

 private:
  ~ParameterLeaf() override;

  const std::string name_;
  // Owned: the object stays until the leaf goes, and a count of 0 in it shows that the parameter is gone. This needs no
  // lock, which a fork or many threads in one forward would meet.
  LeafOwner* owner_ = nullptr;
};

}  // namespace halftone
