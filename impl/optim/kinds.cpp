#include "optim/kinds.h"

#include <array>
#include <cstring>
#include <iterator>

#include "optim/adafactor.h"
#include "optim/adamw.h"
#include "optim/lion.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"

namespace halftone::optim {

namespace {

// Calls action(rule) with the kind's rule.
template <class Action>
decltype(auto) with_rule(Kind kind, const Action& action) {
  switch (kind) {
    case Kind::kSgd:
      return action(SgdRule());
    case Kind::kAdam:
      return action(AdamRule());
    case Kind::kAdamW:
      return action(AdamWRule());
    case Kind::kLion:
      return action(LionRule());
    case Kind::kRmsprop:
      return action(RmspropRule());
    case Kind::kAdafactor:
      break;
  }
  return action(AdafactorRule());
}

template <class Rule>
constexpr auto ranges_of() {
  std::array<SettingRange, std::size(Rule::kSettings)> ranges{};
  for (size_t i = 0; i < ranges.size(); ++i) ranges[i] = {Rule::kSettings[i].name, Rule::kSettings[i].bounds};
  return ranges;
}
template <class Rule>
constexpr auto kRanges = ranges_of<Rule>();

template <class Rule>
typename Rule::Group group_of(std::span<const double> numbers) {
  typename Rule::Group group{};
  size_t i = 0;
  for (const auto& setting : Rule::kSettings) setting.put(group, numbers[i++]);
  return group;
}

}  // namespace

std::span<const SettingRange> settings_of(Kind kind) noexcept {
  return with_rule(kind, []<class Rule>(Rule) { return std::span<const SettingRange>(kRanges<Rule>); });
}

const char* name_of(Kind kind) noexcept {
  return with_rule(kind, []<class Rule>(Rule) { return Rule::kName; });
}

Kind kind_of(const Optimizer& optimizer) noexcept {
  for (const Kind kind : {Kind::kSgd, Kind::kAdam, Kind::kAdamW, Kind::kLion, Kind::kRmsprop}) {
    if (std::strcmp(optimizer.kind(), name_of(kind)) == 0) return kind;
  }
  return Kind::kAdafactor;
}

Ref<Optimizer> make_optimizer(Kind kind, const ParameterGroup& group, std::span<const double> numbers) {
  return with_rule(kind, [&]<class Rule>(Rule) -> Ref<Optimizer> {
    return make_ref<GroupedOptimizer<Rule>>(group, group_of<Rule>(numbers));
  });
}

void add_group(Optimizer& optimizer, const ParameterGroup& group, std::span<const double> numbers) {
  with_rule(kind_of(optimizer), [&]<class Rule>(Rule) {
    static_cast<GroupedOptimizer<Rule>&>(optimizer).add_group(group, group_of<Rule>(numbers));
  });
}

void set_group(Optimizer& optimizer, size_t index, std::span<const double> numbers) {
  with_rule(kind_of(optimizer), [&]<class Rule>(Rule) {
    static_cast<GroupedOptimizer<Rule>&>(optimizer).set_group_settings(index, group_of<Rule>(numbers));
  });
}

}  // namespace halftone::optim
