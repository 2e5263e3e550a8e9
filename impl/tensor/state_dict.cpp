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

StagedLoad stage_copy(const StateDict& targets, const StateDict& values) {
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const StateTensor& target : targets.tensors()) {
    const Tensor& live = target.tensor;
    const StateTensor* saved = values.find(target.name);
    if (saved == nullptr) fail(Code::kFormat, "", "tensor %.64s is missing", target.name.c_str());
    if (saved->tensor.dtype() != live.dtype() || saved->tensor.shape() != live.shape()) {
      fail(Code::kFormat, "", "tensor %.64s is %s %s, expected %s %s", target.name.c_str(),
           name_of(saved->tensor.dtype()), ShapeText(saved->tensor.shape()).text, name_of(live.dtype()),
           ShapeText(live.shape()).text);
    }
    if (live.storage()->is_read_only() || may_overlap(live.shape(), live.strides())) {
      fail(Code::kState, "", "tensor %.64s is over memory that is read-only, or whose elements overlap",
           target.name.c_str());
    }
    copies.emplace_back(moved_to(live.device(), saved->tensor), live);
  }
  return [copies = std::move(copies)] {
    for (const auto& [from, to] : copies) copy(from, to);
  };
}

}  // namespace halftone
