#include "nn/tied_names.h"

#include "core/error.h"
#include "tensor/equal_state.h"

namespace halftone::nn {

TiedNames::TiedNames(const Module& module) {
  const Ref<const Module::Contents> contents = module.contents();
  std::unordered_map<const Parameter*, std::vector<std::string>> names;
  std::vector<const Parameter*> order;
  for (const auto* list : {&contents->parameters, &contents->aliases}) {
    for (const NamedParameter& named : *list) {
      std::vector<std::string>& own = names[named.parameter.get()];
      own.push_back(named.name);
      if (own.size() == 2) order.push_back(named.parameter.get());
    }
  }
  for (const Parameter* parameter : order) {
    for (const std::string& name : names[parameter]) places_.emplace(name, names_.size());
    names_.push_back(std::move(names[parameter]));
  }
}

const StateTensor* TiedNames::find(const StateDict& state, const std::string& name) const {
  if (const StateTensor* entry = state.find(name)) return entry;
  const auto place = places_.find(name);
  if (place == places_.end()) return nullptr;
  for (const std::string& other : names_[place->second]) {
    if (const StateTensor* entry = state.find(other)) return entry;
  }
  return nullptr;
}

void TiedNames::require_equal(const StateDict& state, const char* argument) const {
  for (const std::vector<std::string>& names : names_) {
    const StateTensor* first = nullptr;
    for (const std::string& name : names) {
      const StateTensor* entry = state.find(name);
      if (entry == nullptr) continue;
      if (first == nullptr) first = entry;
      if (are_equal(*first, *entry)) continue;
      fail(Code::kInvalidArgument, argument, "%.64s and %.64s are one parameter of the module, but differ in %s",
           first->name.c_str(), name.c_str(), argument);
    }
  }
}

}  // namespace halftone::nn
