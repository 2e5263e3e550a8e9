// An optimizer by its rule: the settings of its groups and the kernel that runs them. A rule names the type of a
// group's settings, lists them, and names the kernel and the moments that a group keeps (optim/adamw.h, optim/sgd.h).
#pragma once

#include <vector>

#include "core/error.h"
#include "optim/device_array.h"
#include "optim/group_setting.h"
#include "optim/optimizer.h"
#include "tensor/launch.h"

namespace halftone::optim {

template <class Rule>
class GroupedOptimizer final : public Optimizer {
 public:
  using Group = typename Rule::Group;

  // Throws as add_group does.
  GroupedOptimizer(const ParameterGroup& group, const Group& settings) : Optimizer(group) {
    add_group(group, settings);
  }

  // Owns further parameters from now on, whose moments begin with the next step. Allocates everything that steps need.
  // Throws STATE for no parameters, one that has an optimizer or is frozen, and between unscale and step;
  // DTYPE_MISMATCH for a parameter that is not f32, DEVICE for one on another device.
  void add_group(const ParameterGroup& group, const Group& settings) {
    std::vector<Group> all = groups_.host();
    all.push_back(settings);
    DeviceArray<Group> groups(device(), std::move(all));
    make_room(precisions_, 1);
    own(group, Rule::moments(settings));
    groups_ = std::move(groups);
    precisions_.push_back(group.precision);
  }

  // The settings of a group, and the storage that it was added with. REQUIRES: group < group_count().
  const Group& group_settings(size_t group) const noexcept { return groups_.host()[group]; }
  const Precision& group_precision(size_t group) const noexcept override { return precisions_[group]; }
  // From the next step on. The counts of updates go on. Throws INVALID_ARGUMENT if its parameters keep other
  // moments than the settings need. REQUIRES: group < group_count().
  void set_group_settings(size_t group, const Group& settings) {
    if (!(Rule::moments(settings) == Rule::moments(group_settings(group)))) {
      fail(Code::kInvalidArgument, "options",
           "options needs other moments than the group keeps: neither momentum nor centered can be switched on or off");
    }
    groups_.change([&](std::vector<Group>& groups) { groups[group] = settings; });
  }

  const char* kind() const noexcept override { return Rule::kName; }
  bool squares_gradients() const noexcept override {
    return requires { Rule::kSquaresGradients; };
  }
  size_t group_count() const noexcept override { return groups_.host().size(); }

  std::vector<NamedNumber> group_numbers(size_t group) const override {
    std::vector<NamedNumber> numbers;
    for (const auto& setting : Rule::kSettings) numbers.push_back({setting.name, setting.of(group_settings(group))});
    return numbers;
  }
  std::function<void()> stage_group_numbers(size_t group, const std::vector<double>& numbers) override {
    Group loaded = group_settings(group);
    size_t i = 0;
    for (const auto& setting : Rule::kSettings) {
      const double number = numbers[i++];
      if (!is_within(number, setting.bounds)) {
        fail(Code::kFormat, "", "group.%zu.%s=%g, expected %s", group, setting.name, number, text_of(setting.bounds));
      }
      setting.put(loaded, number);
    }
    if (!(Rule::moments(loaded) == Rule::moments(group_settings(group)))) {
      fail(Code::kFormat, "", "group %zu has other moments than the optimizer's", group);
    }
    return [this, group, loaded] { set_group_settings(group, loaded); };
  }

  void set_lr(size_t group, double lr) override {
    groups_.change([&](std::vector<Group>& groups) { groups[group].lr = lr; });
  }

 private:
  double own_lr(size_t group) const noexcept override { return group_settings(group).lr; }
  void update(const MultiTensor<UpdateSlot>& slots, double* partials, const OptimizerState* state) override {
    if constexpr (requires { Rule::kSumsOverParameters; }) {
      launch(Rule::kName, device(), &Kernels::optim, Rule::kKernel, slots, groups_.device(), partials, state);
    } else {
      launch(Rule::kName, device(), &Kernels::optim, Rule::kKernel, slots, groups_.device(), state);
    }
  }

  DeviceArray<Group> groups_;
  std::vector<Precision> precisions_;  // of the groups
};

}  // namespace halftone::optim
