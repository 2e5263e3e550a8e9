#include "trainer/overflow_finder.h"

#include <algorithm>
#include <limits>

#include "autograd/parameter.h"
#include "autograd/scope.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"
#include "trainer/losses.h"

namespace halftone::trainer {

namespace {

// A module that is there twice has its first path.
void add_leaves(nn::Module& module, const std::string& path, std::vector<OverflowFinder::Leaf>& leaves) {
  if (module.child(0) == nullptr) {
    const bool is_known =
        std::any_of(leaves.begin(), leaves.end(), [&](const auto& leaf) { return leaf.module.get() == &module; });
    if (!is_known) leaves.push_back({path, Ref<nn::Module>::share(&module)});
    return;
  }
  for (size_t i = 0; const nn::Module* child = module.child(i); ++i) {
    const std::string name = module.child_name(i);
    add_leaves(const_cast<nn::Module&>(*child), path.empty() ? name : path + "." + name, leaves);
  }
}

bool is_finite(const Tensor& tensor) { return item(ops::all(ops::is_finite(tensor), {}, false)) != 0.0; }

Tensor gradient_of(const Parameter& parameter) {
  return parameter.has_grad() ? parameter.grad() : parameter.placement().shard_grad();
}

}  // namespace

OverflowFinder::OverflowFinder(nn::Module& model) {
  model.contents();  // refuses what is too deep or has too many paths
  add_leaves(model, "", leaves_);
}

OverflowFinder::~OverflowFinder() { watch(false); }

void OverflowFinder::watch(bool watches) {
  if (watches == !hooks_.empty()) return;
  for (const Ref<Hook>& hook : hooks_) hook->remove();
  hooks_.clear();
  for (size_t i = 0; watches && i < leaves_.size(); ++i) {
    hooks_.push_back(leaves_[i].module->forward_hooks().add([this, i](const nn::Module&, std::span<const Tensor>,
                                                                      std::span<const Tensor> outputs,
                                                                      std::span<Tensor>) { look(i, outputs); }));
  }
}

void OverflowFinder::look(size_t number, std::span<const Tensor> outputs) {
  const ScopeGuard modes_return;
  scope().autocast = nullptr;
  scope().grad_enabled = false;
  for (const Tensor& output : outputs) {
    if (output.defined() && is_float(output.dtype())) {
      results_.emplace_back(number, ops::all(ops::is_finite(output.detach()), {}, false));
    }
  }
}

int64_t OverflowFinder::find(bool loss_is_finite, const Group* group) const {
  constexpr double kNone = 1e9;  // above all numbers
  const int64_t result = first_result();
  const double first = reduced_over_ranks(group, ReduceOp::kMin, result < 0 ? kNone : static_cast<double>(result));
  if (first < kNone) return static_cast<int64_t>(first);
  const bool all_finite = reduced_over_ranks(group, ReduceOp::kMin, loss_is_finite ? 1 : 0) != 0;
  const double last = reduced_over_ranks(group, ReduceOp::kMax, static_cast<double>(last_gradient()));
  return all_finite ? static_cast<int64_t>(last) : -1;
}

int64_t OverflowFinder::first_result() const {
  for (const auto& [number, finite] : results_) {
    if (item(finite) == 0.0) return static_cast<int64_t>(number);
  }
  return -1;
}

int64_t OverflowFinder::last_gradient() const {
  for (size_t i = leaves_.size(); i > 0; --i) {
    for (const NamedParameter& named : leaves_[i - 1].module->parameters()) {
      const Tensor gradient = gradient_of(*named.parameter);
      if (gradient.defined() && !is_finite(gradient)) return static_cast<int64_t>(i - 1);
    }
  }
  return -1;
}

}  // namespace halftone::trainer
