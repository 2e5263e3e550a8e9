#include "tensor/state_dict.h"

#include <utility>

#include "core/error.h"
#include "core/utf8.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

void require_name(const std::string& name) {
  if (name.empty()) fail(Code::kInvalidArgument, "name", "name is empty");
  if (name.find('\0') != std::string::npos) fail(Code::kInvalidArgument, "name", "name holds a zero byte");
  if (!is_utf8(name.data(), name.size())) fail(Code::kInvalidArgument, "name", "name is no UTF-8");
}

}  // namespace

std::string_view StateDict::name_of(uint32_t number) const noexcept {
  return number % 2 == kTensors ? tensors_[number / 2].name : scalars_[number / 2].name;
}

const uint32_t* StateDict::number_named(std::string_view name) const noexcept {
  return index_.find(name, [&](uint32_t number, std::string_view wanted) { return name_of(number) == wanted; });
}

template <class Entry>
void StateDict::append(std::vector<Entry>& list, List kind, Entry entry) {
  require_name(entry.name);
  if (number_named(entry.name) != nullptr) {
    fail(Code::kInvalidArgument, "name", "name %.64s stands twice", entry.name.c_str());
  }
  index_.prepare_add([&](uint32_t number) { return name_of(number); });
  list.push_back(std::move(entry));
  index_.add(list.back().name, number_of(list.size() - 1, kind));
}

void StateDict::add(std::string name, const Tensor& tensor) {
  append(tensors_, kTensors, StateTensor{.name = std::move(name), .tensor = tensor});
}

void StateDict::add_range(std::string name, const Tensor& range, const Shape& global_shape, int64_t offset) {
  if (offset == 0 && range.shape() == global_shape) return add(std::move(name), range);
  append(tensors_, kTensors,
         StateTensor{.name = std::move(name),
                     .tensor = range,
                     .range = std::make_shared<const StateRange>(StateRange{global_shape, offset})});
}

void StateDict::add_reader(std::string name, Ref<const StateReader> reader) {
  append(tensors_, kTensors, StateTensor{.name = std::move(name), .reader = std::move(reader)});
}

void StateDict::add_entry(std::string name, const StateTensor& entry) {
  append(tensors_, kTensors,
         StateTensor{.name = std::move(name), .tensor = entry.tensor, .range = entry.range, .reader = entry.reader});
}

void StateDict::add(std::string name, StateScalar value) {
  append(scalars_, kScalars, NamedScalar{.name = std::move(name), .value = std::move(value)});
}

const StateTensor* StateDict::find(const std::string& name) const noexcept {
  const uint32_t* number = number_named(name);
  return number != nullptr && *number % 2 == kTensors ? &tensors_[*number / 2] : nullptr;
}

const StateScalar* StateDict::find_scalar(const std::string& name) const noexcept {
  const uint32_t* number = number_named(name);
  return number != nullptr && *number % 2 == kScalars ? &scalars_[*number / 2].value : nullptr;
}

Tensor in_memory(const StateTensor& entry) {
  if (!entry.reader) return entry.tensor;
  const Tensor tensor = empty(entry.reader->device(), entry.dtype(), entry.shape());
  entry.reader->read(0, tensor);
  return tensor;
}

StateDict in_memory(const StateDict& state) {
  StateDict result;
  result.reserve(state.tensors().size());
  for (const StateTensor& entry : state.tensors()) {
    result.add_range(entry.name, in_memory(entry), entry.global_shape(), entry.offset());
  }
  for (const NamedScalar& scalar : state.scalars()) result.add(scalar.name, scalar.value);
  return result;
}

}  // namespace halftone
