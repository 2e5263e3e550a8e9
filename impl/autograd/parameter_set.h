// An ordered set of parameters by name: what a group of an optimizer, or an average, is made over. A value: sets made
// from others do not follow them. Used by one thread at a time.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "autograd/parameter.h"

namespace halftone {

// A parameter with its name inside a module, "0.weight", or its own where it has no module.
struct NamedParameter {
  std::string name;
  Ref<Parameter> parameter;
};

class ParameterSet final : public RefCounted {
 public:
  ParameterSet() = default;
  // A parameter that the list holds twice keeps its first name.
  explicit ParameterSet(const std::vector<NamedParameter>& parameters);

  const std::vector<NamedParameter>& items() const noexcept { return items_; }
  bool contains(const Parameter& parameter) const { return members_.contains(&parameter); }
  // Returns false, and changes nothing, where the set holds the parameter already.
  bool add(const NamedParameter& named);

  // In the same order, those whose name matches the pattern (core/text/glob.h), or the others.
  Ref<ParameterSet> selected(const char* pattern) const { return filtered(pattern, true); }
  Ref<ParameterSet> excluded(const char* pattern) const { return filtered(pattern, false); }

 private:
  Ref<ParameterSet> filtered(const char* pattern, bool matching) const;

  std::vector<NamedParameter> items_;
  std::unordered_set<const Parameter*> members_;  // the parameters of items_
};

}  // namespace halftone
