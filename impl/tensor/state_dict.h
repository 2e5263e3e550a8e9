// What is kept of a program's state: tensors and scalars by name, in the order in which they were added. Modules,
// optimizers, scalers and samplers fill one and take one back; checkpoint/ writes and reads it, and knows nothing else.
// Tensors are references: of the live state where it is to be saved, of fresh memory where it was read. One thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace halftone {

// Elements [offset, offset + numel) of the flattened tensor of global_shape; all of them where nothing is sharded.
struct StateTensor {
  std::string name;
  Tensor tensor;
  Shape global_shape;
  int64_t offset = 0;
};

using StateScalar = std::variant<int64_t, double, std::string>;

struct NamedScalar {
  std::string name;
  StateScalar value;
};

// A state that was compared with what it is to be loaded into, and made ready: calling it writes, and only a device
// that fails can stop it. What it was made from must live until then.
using StagedLoad = std::function<void()>;

class StateDict {
 public:
  // Names are UTF-8, not empty, without a zero byte, and stand once among tensors and scalars together. Throws
  // INVALID_ARGUMENT naming `name`.
  void add(const std::string& name, const Tensor& tensor);
  // A range of a flattened tensor; `range` has one dimension.
  void add_range(const std::string& name, const Tensor& range, const Shape& global_shape, int64_t offset);
  void add(const std::string& name, StateScalar value);

  const std::vector<StateTensor>& tensors() const noexcept { return tensors_; }
  const std::vector<NamedScalar>& scalars() const noexcept { return scalars_; }

  // Null where there is none of that name.
  const StateTensor* find(const std::string& name) const noexcept;
  const StateScalar* find_scalar(const std::string& name) const noexcept;

 private:
  template <class Entry>
  void append(std::vector<Entry>& list, Entry entry);

  std::vector<StateTensor> tensors_;
  std::vector<NamedScalar> scalars_;
  std::unordered_map<std::string, size_t> indices_;  // into the list that has the name
};

// Copies of `values` into the tensors of the same names: all of `targets` must be there, in their dtype and shape.
// Throws FORMAT naming the first that is not. Scalars are not looked at.
StagedLoad stage_copy(const StateDict& targets, const StateDict& values);

}  // namespace halftone
