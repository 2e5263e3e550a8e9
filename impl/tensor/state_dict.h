// The saved state of a program: tensors and scalars by name, in the order in which they were added. Modules,
// optimizers, scalers and samplers produce one and load one; checkpoint/ writes and reads one, and knows none of those
// classes. Tensors are references: to the live state if it is to be saved, to new memory if it was read from a file.
// One thread at a time.
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

// A one-dimensional tensor holds this range of a larger, flattened tensor.
struct StateRange {
  Shape global_shape;
  int64_t offset = 0;
};

// A file may hold a million of them, so the rare range is behind a pointer.
struct StateTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const StateRange> range = nullptr;  // null: the whole tensor, in its shape

  const Shape& global_shape() const noexcept { return range ? range->global_shape : tensor.shape(); }
  int64_t offset() const noexcept { return range ? range->offset : 0; }
};

using StateScalar = std::variant<int64_t, double, std::string>;

// The largest count of steps or batches in a state: a program can go on counting without an overflow.
inline constexpr int64_t kLargestCount = int64_t{1} << 62;

struct NamedScalar {
  std::string name;
  StateScalar value;
};

// A load that was checked and prepared. The call writes, and can fail only if a device fails. REQUIRES: the objects
// that it was made from live until then.
using StagedLoad = std::function<void()>;

class StateDict {
 public:
  // Names are UTF-8, not empty and without a zero byte. A name is used once among tensors and scalars together. Throws
  // INVALID_ARGUMENT naming `name`.
  void add(std::string name, const Tensor& tensor);
  // `range` is a one-dimensional range of a flattened tensor, or the whole tensor in its shape.
  void add_range(std::string name, const Tensor& range, const Shape& global_shape, int64_t offset);
  void add(std::string name, StateScalar value);

  // Makes room for `count` tensors in total.
  void reserve(size_t count) { tensors_.reserve(count); }

  const std::vector<StateTensor>& tensors() const noexcept { return tensors_; }
  const std::vector<NamedScalar>& scalars() const noexcept { return scalars_; }

  // Null if there is none of that name.
  const StateTensor* find(const std::string& name) const noexcept;
  const StateScalar* find_scalar(const std::string& name) const noexcept;

 private:
  // A number in index_ combines an entry's place in its list and the list.
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

// Prepares to copy `values` into the `targets` of the same names. Throws FORMAT naming the first target that is missing
// or has another dtype or shape, STATE for one that may not be written. Scalars are ignored.
StagedLoad stage_copy(const StateDict& targets, const StateDict& values);

}  // namespace halftone
