#include "optim/parameter_match.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/error.h"
#include "core/name_list.h"

namespace halftone::optim {

namespace {

// "3.0.bias.moment1": of parameter "0.bias", whose name with its number is "3.0.bias", the part "moment1".
struct MomentName {
  std::string numbered;
  std::string name;
  std::string part;
};

// Nothing for a name of another form, such as that of a group's setting.
std::optional<MomentName> parsed(const std::string& text) {
  const size_t first = text.find('.'), last = text.rfind('.');
  if (first == std::string::npos || first == 0 || last == first) return std::nullopt;
  if (text.find_first_not_of("0123456789") != first) return std::nullopt;
  return MomentName{text.substr(0, last), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
}

NameList listed(const std::vector<std::string>& names) {
  NameList list;
  for (const std::string& name : names) list.add(name);
  return list;
}

}  // namespace

ParameterMatch::Parameters::Parameters(const StateDict& state) {
  std::unordered_map<std::string, size_t> met;
  for (const StateTensor& entry : state.tensors()) {
    auto moment = parsed(entry.name);
    if (!moment || !met.emplace(moment->numbered, numbered.size()).second) continue;
    places.emplace(moment->name, numbered.size());
    numbered.push_back(std::move(moment->numbered));
    names.push_back(std::move(moment->name));
  }
}

ParameterMatch::ParameterMatch(const StateDict& targets, const StateDict& state)
    : state_(state), own_(targets), saved_(state) {}

// If one side keeps no moments at all, the rules differ and not the parameters.
void ParameterMatch::require_same() const {
  const std::unordered_set<std::string> saved(saved_.numbered.begin(), saved_.numbered.end());
  const auto is_saved = [&](const std::string& numbered) { return saved.contains(numbered); };
  const bool is_same =
      saved.size() == own_.numbered.size() && std::all_of(own_.numbered.begin(), own_.numbered.end(), is_saved);
  if (is_same || own_.names.empty() || saved_.names.empty()) return;
  const LoadReport found = report();
  if (found.fresh.empty() && found.unused.empty()) {
    fail(Code::kFormat, "", "the optimizer holds %zu parameters, and %zu are saved, in another order (%s)",
         own_.names.size(), saved_.names.size(), "htone_optimizer_load_options.strict=0 finds them by name");
  }
  fail(Code::kFormat, "", "the optimizer holds other parameters (%s); without saved moments: %s; only saved: %s",
       "htone_optimizer_load_options.strict=0 loads those that both have", listed(found.fresh).text().c_str(),
       listed(found.unused).text().c_str());
}

void ParameterMatch::require_distinct() const {
  for (const Parameters* side : {&own_, &saved_}) {
    for (size_t i = 0; i < side->names.size(); ++i) {
      if (side->places.at(side->names[i]) == i) continue;
      fail(Code::kFormat, "", "two parameters %s have the name %.64s, so neither is found by it",
           side == &own_ ? "of the optimizer" : "in the state", side->names[i].c_str());
    }
  }
}

LoadReport ParameterMatch::report() const {
  LoadReport found;
  for (const std::string& name : own_.names)
    (saved_.places.contains(name) ? found.loaded : found.fresh).push_back(name);
  for (const std::string& name : saved_.names) {
    if (!own_.places.contains(name)) found.unused.push_back(name);
  }
  return found;
}

StateDict ParameterMatch::renamed() const {
  StateDict result;
  const auto own_name = [&](const std::string& name) -> std::optional<std::string> {
    const auto moment = parsed(name);
    if (!moment) return name;
    const auto place = own_.places.find(moment->name);
    if (place == own_.places.end()) return std::nullopt;
    return own_.numbered[place->second] + "." + moment->part;
  };
  for (const StateTensor& entry : state_.tensors()) {
    if (auto name = own_name(entry.name)) result.add_entry(std::move(*name), entry);
  }
  for (const NamedScalar& scalar : state_.scalars()) {
    if (auto name = own_name(scalar.name)) result.add(std::move(*name), scalar.value);
  }
  return result;
}

bool ParameterMatch::has(const std::string& target) const {
  const auto moment = parsed(target);
  return moment && saved_.places.contains(moment->name);
}

}  // namespace halftone::optim
