// An optimizer by its rule: the settings of its groups and the kernel that runs them. A rule names the type of a
// group's settings, the kernel, and which moments a group keeps (optim/adamw.h, optim/sgd.h).
#pragma once

#include <vector>

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
  void add_group(const ParameterGroup& group, Group settings) {
    if constexpr (requires { settings.first_step; }) settings.first_step = step_count();
    std::vector<Group> all = groups_.host();
    all.push_back(settings);
    DeviceArray<Group> groups(device(), std::move(all));
    own(group, static_cast<int32_t>(groups_.size()), Rule::moments(settings));
    groups_ = std::move(groups);
  }

  const char* kind() const noexcept override { return Rule::kName; }
  size_t group_count() const noexcept override { return groups_.host().size(); }

  GroupProgress group_progress(size_t group) const noexcept override {
    const Group& settings = groups_.host()[group];
    GroupProgress progress = {.lr = settings.lr, .first_step = 0};
    if constexpr (requires { settings.first_step; }) progress.first_step = settings.first_step;
    return progress;
  }
  void set_group_progress(size_t group, const GroupProgress& progress) override {
    groups_.change([&](std::vector<Group>& groups) {
      Group& settings = groups[group];
      settings.lr = progress.lr;
      if constexpr (requires { settings.first_step; }) settings.first_step = progress.first_step;
    });
  }

 private:
  void update(const MultiTensor<UpdateSlot>& slots, double* partials, const OptimizerState* state) override {
    if constexpr (requires { Rule::kSumsOverParameters; }) {
      launch(Rule::kName, device(), &Kernels::optim, Rule::kKernel, slots, groups_.device(), partials, state);
    } else {
      launch(Rule::kName, device(), &Kernels::optim, Rule::kKernel, slots, groups_.device(), state);
    }
  }

  DeviceArray<Group> groups_;
};

}  // namespace halftone::optim
