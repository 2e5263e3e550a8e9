#include "autograd/parameter_set.h"

#include <unordered_set>

#include "core/glob.h"

namespace halftone {

ParameterSet::ParameterSet(const std::vector<NamedParameter>& parameters) {
  std::unordered_set<const Parameter*> seen;
  for (const NamedParameter& named : parameters) {
    if (seen.insert(named.parameter.get()).second) items_.push_back(named);
  }
}

bool ParameterSet::contains(const Parameter& parameter) const noexcept {
  for (const NamedParameter& named : items_) {
    if (named.parameter.get() == &parameter) return true;
  }
  return false;
}

bool ParameterSet::add(const NamedParameter& named) {
  if (contains(*named.parameter)) return false;
  items_.push_back(named);
  return true;
}

Ref<ParameterSet> ParameterSet::filtered(const char* pattern, bool matching) const {
  Ref<ParameterSet> result = make_ref<ParameterSet>();
  for (const NamedParameter& named : items_) {
    if (matches_glob(pattern, named.name.c_str()) == matching) result->items_.push_back(named);
  }
  return result;
}

}  // namespace halftone
