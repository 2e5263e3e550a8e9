#include "autograd/parameter_set.h"

#include "core/text/glob.h"

namespace halftone {

ParameterSet::ParameterSet(const std::vector<NamedParameter>& parameters) {
  for (const NamedParameter& named : parameters) add(named);
}

bool ParameterSet::add(const NamedParameter& named) {
  const auto [member, is_new] = members_.insert(named.parameter.get());
  if (!is_new) return false;
  try {
    items_.push_back(named);
  } catch (...) {
    members_.erase(member);
    throw;
  }
  return true;
}

Ref<ParameterSet> ParameterSet::filtered(const char* pattern, bool matching) const {
  Ref<ParameterSet> result = make_ref<ParameterSet>();
  for (const NamedParameter& named : items_) {
    if (matches_glob(pattern, named.name.c_str()) == matching) result->add(named);
  }
  return result;
}

}  // namespace halftone
