// What is kept of a program's state: tensors and scalars by name, in the order in which they were added. Modules,
// optimizers, scalers and samplers fill one and take one back; checkpoint/ writes and reads it, and knows nothing else.
// Tensors are references: of the live state where it is to be saved, of fresh memory where it was read. One thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/name_index.h"
#include "tensor/tensor.h"

namespace halftone {

// Which elements of a larger tensor, flattened, a tensor with one dimension holds.
struct StateRange {
  Shape global_shape;
  int64_t offset = 0;
};

// A file may hold a million of them: what few have is not in each.
struct StateTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const StateRange> range = nullptr;  // null: all elements, in their shape

  const Shape& global_shape() const noexcept { return range ? range->global_shape : tensor.shape(); }
  int64_t offset() const noexcept { return range ? range->offset : 0; }
};

using StateScalar = std::variant<int64_t, double, std::string>;

// Counts of steps and batches in a state are at most that: they can still be counted on.
inline constexpr int64_t kLargestCount = int64_t{1} << 62;

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
  void add(std::string name, const Tensor& tensor);
  // A range of a flattened tensor, of one dimension; or all of it, in its shape.
  void add_range(std::string name, const Tensor& range, const Shape& global_shape, int64_t offset);
  void add(std::string name, StateScalar value);

  // Makes room for so many tensors in all.
  void reserve(size_t count) { tensors_.reserve(count); }

  const std::vector<StateTensor>& tensors() const noexcept { return tensors_; }
  const std::vector<NamedScalar>& scalars() const noexcept { return scalars_; }

  // Null where there is none of that name.
  const StateTensor* find(const std::string& name) const noexcept;
  const StateScalar* find_scalar(const std::string& name) const noexcept;

 private:
  // Numbers in index_: the place in its list, and which list it is.
  enum List : uint32_t { kTensors, kScalars };
  static constexpr uint32_t number_of(size_t place, List list) { return static_cast<uint32_t>(place) * 2 + list; }

  template <class Entry>
  void append(std::vector<Entry>& list, List kind, Entry entry);
  std::string_view name_of(uint32_t number) const noexcept;
  const uint32_t* number_named(std::string_view name) const noexcept;

  std::vector<StateTensor> tensors_;
  std::vector<NamedScalar> scalars_;
  NameIndex index_;
};

// Copies of `values` into the tensors of the same names: all of `targets` must be there, in their dtype and shape.
// Throws FORMAT naming the first that is not, STATE for one that may not be written. Scalars are not looked at.
StagedLoad stage_copy(const StateDict& targets, const StateDict& values);

}  // namespace halftone
