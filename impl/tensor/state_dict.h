// The saved state of a program: tensors and scalars by name, in the order in which they were added. Modules,
// optimizers, scalers and samplers produce one and load one (staged_load.h); checkpoint/ writes and reads one, and
// knows none of those classes. A tensor is a reference to the live state, or a reader that gets its elements when they
// are needed: a large state is then never in memory twice. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/box.h"
#include "tensor/name_index.h"
#include "tensor/tensor.h"

namespace halftone {

// An entry holds the elements from `offset` on of a larger tensor, flattened, or of a box of it.
struct StateRange {
  Shape global_shape;
  int64_t offset = 0;
  std::shared_ptr<const Box> box = nullptr;  // null: all of the larger tensor
};

class StateStore;

// The elements of an entry that has no tensor: they are in a file, or are computed from other tensors.
class StateReader : public RefCounted {
 public:
  virtual DType dtype() const noexcept = 0;
  virtual const Shape& shape() const noexcept = 0;
  // The device whose memory read() writes to.
  virtual ContextDevice& device() const noexcept = 0;
  // Writes elements [begin, begin + target.numel()) of the flattened tensor to `target`, and does not count the write
  // as a new version. If it throws, the content of `target` is unspecified. REQUIRES: `target` is contiguous, has this
  // dtype, and is in memory of device(), or in any host memory if device() is host-accessible.
  virtual void read(int64_t begin, const Tensor& target) const = 0;
  // As read(), for elements of a box of this tensor, of which `part` has as many as `target`.
  virtual void read_part(const BoxRange& part, const Tensor& target) const;
  // True if each read verifies the whole tensor, so that many small reads cost much.
  virtual bool verifies_whole() const noexcept { return false; }
  // Null if the elements are only read.
  virtual const StateStore* as_store() const noexcept { return nullptr; }
};

// Elements that are kept elsewhere and can be written there.
class StateStore : public StateReader {
 public:
  // Replaces all elements. Throws IO, OUT_OF_MEMORY. REQUIRES: `values` have this dtype and shape, on device().
  virtual void write(const Tensor& values) const = 0;
  const StateStore* as_store() const noexcept override { return this; }
};

// A file may hold a million of them, so the rare range is behind a pointer.
struct StateTensor {
  std::string name;
  Tensor tensor = {};                                 // undefined if `reader` has the elements
  std::shared_ptr<const StateRange> range = nullptr;  // null: the whole tensor, in its shape
  Ref<const StateReader> reader = nullptr;            // null if the elements are in `tensor`

  DType dtype() const noexcept { return reader ? reader->dtype() : tensor.dtype(); }
  const Shape& shape() const noexcept { return reader ? reader->shape() : tensor.shape(); }
  int64_t numel() const noexcept { return halftone::numel(shape()); }
  const Shape& global_shape() const noexcept { return range ? range->global_shape : shape(); }
  int64_t offset() const noexcept { return range ? range->offset : 0; }
  // The elements of the whole tensor that the entry has.
  BoxRange held() const noexcept {
    return {.box = range ? range->box.get() : nullptr, .begin = offset(), .end = offset() + numel()};
  }
};

using StateScalar = std::variant<int64_t, double, std::string>;

// The largest count of steps or batches in a state: a program can go on counting without an overflow.
inline constexpr int64_t kLargestCount = int64_t{1} << 62;

struct NamedScalar {
  std::string name;
  StateScalar value;
};

class StateDict {
 public:
  // Names are UTF-8, not empty and without a zero byte. A name is used once among tensors and scalars together. Throws
  // INVALID_ARGUMENT naming `name`.
  void add(std::string name, const Tensor& tensor);
  // `range` is a one-dimensional range of a flattened tensor, or the whole tensor in its shape.
  void add_range(std::string name, const Tensor& range, const Shape& global_shape, int64_t offset);
  // `part` has the elements of a box, in its shape or one-dimensional, or of a range of the flattened box. Throws
  // INVALID_ARGUMENT if the box is none of the whole tensor's, or has fewer elements.
  void add_part(std::string name, const Tensor& part, const StateRange& range);
  void add_reader(std::string name, Ref<const StateReader> reader);
  // An entry of another state, under a name of its own.
  void add_entry(std::string name, const StateTensor& entry);
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

// Texts by key about a state, such as those of a file. A key is used once.
using StateTexts = std::vector<std::pair<std::string, std::string>>;

// A state that several owners share, such as one of a program's own tensors.
struct SharedStateDict final : RefCounted {
  SharedStateDict() = default;
  explicit SharedStateDict(StateDict value, StateTexts given = {}) : state(std::move(value)), texts(std::move(given)) {}
  StateDict state;
  StateTexts texts;
};

// The entry's tensor, or a new one with the elements of its reader. Throws as the reader does, and OUT_OF_MEMORY.
Tensor in_memory(const StateTensor& entry);
// The elements `wanted` of the whole tensor, in `shape`: a view of the entry's tensor where they follow one another
// there, otherwise a new one. REQUIRES: the entry has them (contains()).
Tensor in_memory(const StateTensor& entry, const BoxRange& wanted, const Shape& shape);
// Reads the elements `wanted` into `target`, as the entry's reader does. REQUIRES: the entry has a reader, and them.
void read_elements(const StateTensor& entry, const BoxRange& wanted, const Tensor& target);
// The state with a tensor for every reader.
StateDict in_memory(const StateDict& state);

}  // namespace halftone
