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

template <class Entry>
void StateDict::append(std::vector<Entry>& list, Entry entry) {
  require_name(entry.name);
  const auto [place, is_new] = indices_.emplace(entry.name, list.size());
  if (!is_new) fail(Code::kInvalidArgument, "name", "name %.64s stands twice", entry.name.c_str());
  try {
    list.push_back(std::move(entry));
  } catch (...) {
    indices_.erase(place);
    throw;
  }
}

void StateDict::add(const std::string& name, const Tensor& tensor) {
  append(tensors_, StateTensor{.name = name, .tensor = tensor, .global_shape = tensor.shape()});
}

void StateDict::add_range(const std::string& name, const Tensor& range, const Shape& global_shape, int64_t offset) {
  append(tensors_, StateTensor{.name = name, .tensor = range, .global_shape = global_shape, .offset = offset});
}

void StateDict::add(const std::string& name, StateScalar value) {
  append(scalars_, NamedScalar{.name = name, .value = std::move(value)});
}

const StateTensor* StateDict::find(const std::string& name) const noexcept {
  const auto found = indices_.find(name);
  if (found == indices_.end() || found->second >= tensors_.size()) return nullptr;
  const StateTensor& entry = tensors_[found->second];
  return entry.name == name ? &entry : nullptr;
}

const StateScalar* StateDict::find_scalar(const std::string& name) const noexcept {
  const auto found = indices_.find(name);
  if (found == indices_.end() || found->second >= scalars_.size()) return nullptr;
  const NamedScalar& entry = scalars_[found->second];
  return entry.name == name ? &entry.value : nullptr;
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
    copies.emplace_back(moved_to(live.device(), saved->tensor), live);
  }
  return [copies = std::move(copies)] {
    for (const auto& [from, to] : copies) copy(from, to);
  };
}

}  // namespace halftone
