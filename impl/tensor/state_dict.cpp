#include "tensor/state_dict.h"

#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

void require_name(const std::string& name) {
  if (name.empty()) fail(Code::kInvalidArgument, "name", "name is empty");
  if (name.find('\0') != std::string::npos) fail(Code::kInvalidArgument, "name", "name holds a zero byte");
  if (!is_utf8(name.data(), name.size())) fail(Code::kInvalidArgument, "name", "name is no UTF-8");
}

// Elements [begin, begin + count) of a contiguous tensor.
Tensor flat_part(const Tensor& tensor, int64_t begin, int64_t count) {
  return tensor.as_strided({count}, {1}, tensor.offset() + begin);
}

}  // namespace

void StateReader::read_part(const BoxRange& part, const Tensor& target) const {
  const BoxRange whole = {.begin = 0, .end = numel(shape())};
  for_each_common_run(whole, part, [&](int64_t begin, int64_t place, int64_t count) {
    read(begin, flat_part(target, place - part.begin, count));
  });
}

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

void StateDict::add_part(std::string name, const Tensor& part, const StateRange& range) {
  if (!range.box) return add_range(std::move(name), part, range.global_shape, range.offset);
  const bool fits = is_box_of(*range.box, numel(range.global_shape)) && range.offset >= 0 &&
                    range.offset <= numel(range.box->size) - part.numel();
  if (!fits) fail(Code::kInvalidArgument, "range", "%.64s is no part of the box of its tensor", name.c_str());
  append(tensors_, kTensors,
         StateTensor{.name = std::move(name), .tensor = part, .range = std::make_shared<const StateRange>(range)});
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

Tensor in_memory(const StateTensor& entry, const BoxRange& wanted, const Shape& shape) {
  const Tensor whole = in_memory(entry);
  const BoxRange held = entry.held();
  if (is_same_box(held.box, wanted.box)) {
    if (whole.shape() == shape) return whole;
    const Tensor flat = contiguous(whole);
    return flat.as_strided(shape, contiguous_strides(shape), flat.offset() + wanted.begin - held.begin);
  }
  const Tensor flat = contiguous(whole), made = empty(whole.device(), whole.dtype(), shape);
  for_each_common_run(held, wanted, [&](int64_t from, int64_t to, int64_t count) {
    copy(flat_part(flat, from - held.begin, count), flat_part(made, to - wanted.begin, count));
  });
  return made;
}

void read_elements(const StateTensor& entry, const BoxRange& wanted, const Tensor& target) {
  const BoxRange held = entry.held();
  if (is_same_box(held.box, wanted.box)) return entry.reader->read(wanted.begin - held.begin, target);
  if (held.box == nullptr && held.begin == 0) return entry.reader->read_part(wanted, target);
  for_each_common_run(held, wanted, [&](int64_t from, int64_t to, int64_t count) {
    entry.reader->read(from - held.begin, flat_part(target, to - wanted.begin, count));
  });
}

StateDict in_memory(const StateDict& state) {
  StateDict result;
  result.reserve(state.tensors().size());
  for (const StateTensor& entry : state.tensors()) {
    result.add_entry(entry.name, {.name = {}, .tensor = in_memory(entry), .range = entry.range, .reader = nullptr});
  }
  for (const NamedScalar& scalar : state.scalars()) result.add(scalar.name, scalar.value);
  return result;
}

}  // namespace halftone
