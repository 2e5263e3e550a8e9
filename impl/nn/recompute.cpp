#include "nn/recompute.h"

#include <algorithm>
#include <utility>

#include "autograd/recompute.h"
#include "autograd/saved_tensor.h"
#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "ops/dispatch/autocast.h"

namespace halftone::nn {

namespace {

// The source of an input in the second run, so that the same operations are recorded. No gradient goes further, and
// hooks that the forward adds to its inputs end with the graph of the second run.
struct RepeatedInput final : Node {
  const char* name() const noexcept override { return "input"; }
  void backward(const std::vector<Tensor>&, InputGrads&) override {}
  void release_saved() noexcept override {}
};

}  // namespace

// One forward of a marked module, with everything that the forward reads.
class ModuleRegion final : public RecomputeRegion {
 public:
  ModuleRegion(const Module& module, std::span<const Tensor> inputs, size_t output_count)
      : module_(Ref<const Module>::share(&module)),
        path_(scope().layer->path()),
        output_count_(output_count),
        policy_(Ref<const AutocastPolicy>::share(scope().autocast)),
        policy_changes_(policy_ ? policy_->changes() : 0),
        recipe_(Ref<const OwnRecipe>::share(scope().recipe)) {
    for (const Tensor& input : inputs) inputs_.push_back(input_of(input));
    for (const Module* each : module.all()) keep(*each);
  }

  std::string place() const override {
    if (path_.empty()) return std::string("the module of kind ").append(module_->kind());
    return std::string("layer ").append(path_).append(" (").append(module_->kind()).append(")");
  }

  void require_unchanged() const override {
    for (const Input& input : inputs_) {
      if (input.is_given) static_cast<void>(input.saved.unpack());
    }
    for (const Weights& weights : weights_) {
      const Tensor& saved = weights.saved.unpack();
      if (weights.is_frozen != weights.parameter->is_frozen()) {
        fail(Code::kState, "tensor", "%s was %s after the forward of %s, which is recomputed",
             weights.parameter->name(), weights.is_frozen ? "made trainable" : "frozen", place().c_str());
      }
      if (saved.storage() == weights.parameter->weights().tensor().storage()) continue;
      fail(Code::kState, "tensor", "the weights of %s were replaced after the forward of %s, which is recomputed",
           weights.parameter->name(), place().c_str());
    }
    for (const SavedTensor& buffer : buffers_) static_cast<void>(buffer.unpack());
    if (!policy_ || policy_->changes() == policy_changes_) return;
    fail(Code::kState, "tensor", "the autocast policy was changed after the forward of %s, which is recomputed",
         place().c_str());
  }

  void run_again() const override {
    scope().autocast = policy_.get();  // the caller sets the modes back
    const ThreadGuard<&Scope::recipe> around(recipe_.get());
    const Modes modes(modes_);
    std::vector<Tensor> inputs, outputs(output_count_);
    for (const Input& input : inputs_) inputs.push_back(repeated(input));
    module_->forward_again(inputs, outputs, path_);
  }

  bool may_stop_early() const noexcept override {
    return std::none_of(modes_.begin(), modes_.end(),
                        [](const Mode& mode) { return mode.module->runs_callers_code(); });
  }

  bool keeps_costly_results() const noexcept override { return module_->keeps_costly_results(); }

 private:
  struct Input {
    SavedTensor saved;
    bool is_given;
    bool requires_grad;
  };
  // Weights may be replaced by others, which the parameter then has.
  struct Weights {
    Ref<Parameter> parameter;
    SavedTensor saved;
    bool is_frozen;
  };
  struct Mode {
    Ref<const Module> module;
    bool is_training;
  };

  // Sets the modes of the first run, until the end of a block. Only what differs is written: other threads may run the
  // module in its mode.
  class Modes {
   public:
    explicit Modes(const std::vector<Mode>& wanted) {
      for (const Mode& mode : wanted) {
        if (mode.module->is_training_ != mode.is_training) changed_.push_back(mode);
      }
      flip();
    }
    ~Modes() { flip(); }
    Modes(const Modes&) = delete;
    Modes& operator=(const Modes&) = delete;

   private:
    void flip() noexcept {
      for (const Mode& mode : changed_) mode.module->is_training_ = !mode.module->is_training_;
    }

    std::vector<Mode> changed_;
  };

  static Input input_of(const Tensor& input) {
    if (!input.defined()) return {.saved = {}, .is_given = false, .requires_grad = false};
    return {.saved = SavedTensor(input), .is_given = true, .requires_grad = requires_grad(input)};
  }

  static Tensor repeated(const Input& input) {
    if (!input.is_given) return {};
    Tensor tensor = input.saved.unpack().detach();
    if (input.requires_grad) tensor.set_gradient_source(make_ref<RepeatedInput>());
    return tensor;
  }

  // In training a forward may write its module's buffers, and does not compute from them.
  void keep(const Module& module) {
    modes_.push_back({Ref<const Module>::share(&module), module.is_training()});
    std::vector<NamedParameter> parameters;
    module.append_parameters("", parameters);
    for (const NamedParameter& named : parameters) {
      const Ref<Parameter>& parameter = named.parameter;
      weights_.push_back({parameter, SavedTensor(parameter->leaf()), parameter->is_frozen()});
    }
    if (module.is_training()) return;
    std::vector<NamedBuffer> buffers;
    module.append_buffers("", buffers);
    for (const NamedBuffer& named : buffers) buffers_.emplace_back(named.tensor);
  }

  const Ref<const Module> module_;
  const std::string path_;
  const size_t output_count_;
  const Ref<const AutocastPolicy> policy_;
  const uint64_t policy_changes_;
  const Ref<const OwnRecipe> recipe_;
  std::vector<Input> inputs_;
  std::vector<Weights> weights_;
  std::vector<SavedTensor> buffers_;
  std::vector<Mode> modes_;
};

void Module::forward_in_region(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const Ref<RecomputeRegion> region = make_ref<ModuleRegion>(*this, inputs, outputs.size());
  RecomputePass pass(region);
  forward_all(inputs, outputs);
  pass.complete();
}

int64_t set_recompute(Module& module, const RecomputeRule& rule) {
  int64_t fitting = 0, changed = 0;
  for_each_match(module, rule.match, [&](Module& fits) {
    const bool is_chosen = rule.every == 0 || fitting % rule.every == 0;
    ++fitting;
    if (!is_chosen) return;
    fits.set_recompute(rule.every > 0);
    ++changed;
  });
  return changed;
}

}  // namespace halftone::nn
