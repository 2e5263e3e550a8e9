#include "parallel/shard/unit_rule.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/text/glob.h"

namespace halftone::parallel {
namespace {

using NumberSet = std::unordered_set<size_t>;

class UnitWalk {
 public:
  UnitWalk(const std::vector<NamedParameter>& parameters, const UnitRule& rule) : rule_(rule) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      numbers_.emplace(parameters[i].parameter.get(), i);
      elements_.push_back(numel(parameters[i].parameter->shape()));
    }
  }

  std::vector<Unit> units_of(nn::Module& model) {
    NumberSet rest = visit("", model, true);
    for (auto& [module, path, numbers] : found_) add_shared(numbers, rest);
    std::vector<Unit> units = {{.module = &model, .path = "", .parameters = sorted(rest)}};
    for (auto& [module, path, numbers] : found_) {
      std::erase_if(numbers, [&](size_t number) { return rest.contains(number); });
      if (!numbers.empty()) units.push_back({.module = module, .path = path, .parameters = sorted(numbers)});
    }
    return units;
  }

 private:
  struct Found {
    nn::Module* module;
    std::string path;
    NumberSet numbers;
  };

  // Returns the parameters of a module, and of those in it, that no unit has.
  NumberSet visit(const std::string& path, nn::Module& module, bool is_model) {
    if (!met_.insert(&module).second) return known_[&module];
    const size_t place = found_.size();
    NumberSet own;
    std::vector<NamedParameter> direct;
    module.append_parameters("", direct);
    for (const NamedParameter& named : direct) own.insert(numbers_.at(named.parameter.get()));
    for (size_t i = 0; const nn::Module* child = module.child(i); ++i) {
      const std::string name = module.child_name(i);
      // Children are shared parts of a model that the caller may change.
      own.merge(visit(path.empty() ? name : path + "." + name, const_cast<nn::Module&>(*child), false));
    }
    if (is_model || !fits(path, module, own)) return known_[&module] = own;
    found_.insert(found_.begin() + static_cast<std::ptrdiff_t>(place), {&module, path, std::move(own)});
    return {};
  }

  bool fits(const std::string& path, const nn::Module& module, const NumberSet& own) const {
    if (rule_.path && !matches_glob(rule_.path->c_str(), path.c_str())) return false;
    if (rule_.kind && *rule_.kind != module.kind()) return false;
    int64_t count = 0;
    for (const size_t number : own) count += elements_[number];
    return count >= std::max<int64_t>(rule_.least_elements, 1);
  }

  // A parameter that another unit has as well belongs to the model.
  void add_shared(const NumberSet& numbers, NumberSet& rest) {
    for (const size_t number : numbers) {
      if (!owned_.insert(number).second) rest.insert(number);
    }
  }

  static std::vector<size_t> sorted(const NumberSet& numbers) {
    std::vector<size_t> list(numbers.begin(), numbers.end());
    std::sort(list.begin(), list.end());
    return list;
  }

  const UnitRule& rule_;
  std::unordered_map<const Parameter*, size_t> numbers_;
  std::vector<int64_t> elements_;
  std::unordered_set<const nn::Module*> met_;
  std::unordered_map<const nn::Module*, NumberSet> known_;
  std::vector<Found> found_;
  NumberSet owned_;
};

}  // namespace

std::vector<Unit> choose_units(nn::Module& model, const std::vector<NamedParameter>& parameters, const UnitRule& rule) {
  return UnitWalk(parameters, rule).units_of(model);
}

}  // namespace halftone::parallel
