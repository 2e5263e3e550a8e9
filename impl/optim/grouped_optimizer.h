// An optimizer by its rule: the settings of its groups and the kernel that runs them. A rule names the type of a
// group's settings, the kernel, and how many moments a group keeps (optim/adamw.h, optim/sgd.h).
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
    make_room(groups_, 1);
    own(group, static_cast<int32_t>(groups_.size()), Rule::moments(settings));
    groups_.push_back(settings);
  }

  const char* kind() const noexcept override { return Rule::kName; }
  size_t group_count() const noexcept override { return groups_.size(); }

  GroupProgress group_progress(size_t group) const noexcept override {
    GroupProgress progress = {.lr = groups_[group].lr, .first_step = 0};
    if constexpr (requires(Group g) { g.first_step; }) progress.first_step = groups_[group].first_step;
    return progress;
  }
  void set_group_progress(size_t group, const GroupProgress& progress) noexcept override {
    groups_[group].lr = progress.lr;
    if constexpr (requires(Group g) { g.first_step; }) groups_[group].first_step = progress.first_step;
  }

 private:
  double& base_lr(size_t group) noexcept override { return groups_[group].lr; }
  void update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) override {
    launch(Rule::kName, device, &Kernels::optim, Rule::kKernel, slots, groups_.data(), state);
  }

  std::vector<Group> groups_;
};

}  // namespace halftone::optim
