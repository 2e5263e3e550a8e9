// A module: something that maps tensors to tensors and may hold parameters and buffers. Modules are shared by
// reference. In evaluation mode forward may run from several threads at once; in training mode a module with
// buffers writes them, and its caller orders the calls, as it orders changes of the mode.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/graph/hook_list.h"
#include "autograd/parameter_set.h"
#include "core/dead_list.h"

namespace halftone {
struct OwnRecipe;  // ops/dispatch/recipe.h
}
namespace halftone::nn {

// Ranks agree about the members of an AmaxHistory instead of taking those of one rank.
enum class BufferRole { kState, kAmaxHistory, kAmaxScales };

// A tensor of a module's state that no optimizer updates: running statistics.
struct NamedBuffer {
  std::string name;
  Tensor tensor;
  BufferRole role = BufferRole::kState;
};

// Maximum nesting of modules. Forward recurses once per level on the caller's stack, which may have 64 KiB. Documented
// in nn.h.
inline constexpr int kMaxModuleDepth = 64;

// Limit on the modules that a walk for names meets. A shared submodule is counted once per path, so n modules can yield
// 2^n names. Documented in nn.h.
inline constexpr int64_t kMaxModulePaths = int64_t{1} << 18;

// Limit on a module's inputs, and on its outputs. Documented in forward.h.
inline constexpr size_t kMaxModuleTensors = 64;

// The tensors that a module takes and gives. Inputs from `required_inputs` on may be absent.
struct Arity {
  size_t required_inputs = 1;
  size_t inputs = 1;
  size_t outputs = 1;
};

class PartCopies;

class Module : public RefCounted {
 public:
  Module();

  // The C function that makes one, without its lead: "linear".
  virtual const char* kind() const noexcept = 0;
  // Constant over the module's life.
  virtual Arity arity() const noexcept { return {}; }
  // The module's computation. REQUIRES: arity().inputs inputs, undefined where absent, and arity().outputs outputs. A
  // module of children calls run, which is forward_all between the hooks.
  virtual void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const = 0;
  // Takes the inputs up to the last that is present, and gives the first outputs, at least one. Throws INVALID_ARGUMENT
  // naming "input_count", "inputs" or "output_count" where they do not fit the arity, and naming "module" where
  // kMaxModuleDepth of this thread's modules run already. An error inside is told with the layer where it arose:
  // "layer 0.fc1 (linear): ".
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // Takes one input and returns the first output.
  Tensor run(const Tensor& input) const;
  // For a module that computes several of its parts in one operation: runs `computation` in the place of this part's
  // forward. Errors and traces name this module. REQUIRES: may_be_fused().
  void run_fused(const std::function<void()>& computation) const;
  // False where something depends on this module's own inputs and outputs: a hook, a mark for recomputation, or anomaly
  // mode.
  bool may_be_fused() const noexcept;

  // Called before forward_all in turn, with all inputs that it takes. Each writes those that it replaces to
  // `replacements`, which are undefined before.
  using ForwardPreHook = void(const Module& module, std::span<const Tensor> inputs, std::span<Tensor> replacements);
  Hooks<ForwardPreHook>& forward_pre_hooks() noexcept { return forward_pre_hooks_; }
  // Called after forward_all likewise, for the outputs; `inputs` are those of forward_all.
  using ForwardHook = void(const Module& module, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                           std::span<Tensor> replacements);
  Hooks<ForwardHook>& forward_hooks() noexcept { return forward_hooks_; }

  // True where the forward is code of the caller's, which must run to its end.
  virtual bool has_callers_forward() const noexcept { return false; }
  // True where recomputation of this module, but not of one around it, leaves out what costs much and keeps little
  // (autograd/recompute.h).
  virtual bool keeps_costly_results() const noexcept { return false; }
  // True where the forward, or a hook on it, is such code. Children do not count.
  bool runs_callers_code() const noexcept { return has_callers_forward() || forward_pre_hooks_ || forward_hooks_; }

  // A module of the same kind, mode and settings, with parameters, buffers and children that `parts` copies. Hooks are
  // not copied. The default throws UNSUPPORTED naming "module": nothing is known of a forward that is the caller's.
  virtual Ref<Module> copied(PartCopies& parts) const;

  // Puts another parameter in the place of one of this module's own, such as a weight that other modules hold as well.
  // A layer's must have the shape of the one before. Throws INVALID_ARGUMENT naming "name" where there is none of the
  // name, and SHAPE_MISMATCH naming "parameter".
  void replace_parameter(const std::string& name, const Ref<Parameter>& parameter);

  // Append this module's own parameters and buffers, without those of its children, their names led in by `prefix`.
  virtual void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }
  // Append the names under which files of other programs also have a parameter, such as the weight of a tied head.
  virtual void append_aliases(const std::string& prefix, std::vector<NamedParameter>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }
  virtual void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }

  // Every parameter and buffer of the module and its children, under every name that it has.
  struct Contents final : RefCounted {
    std::vector<NamedParameter> parameters;
    std::vector<NamedParameter> aliases;  // further names of parameters, in files alone
    std::vector<NamedBuffer> buffers;
    uint64_t version = 0;  // of all modules' structure, when this was made
  };
  // Made again only after a module was given something, so that asking for each parameter in turn is linear. Safe from
  // any thread. Throws INVALID_ARGUMENT naming "module" beyond kMaxModulePaths or kMaxModuleDepth.
  Ref<const Contents> contents() const;
  std::vector<NamedParameter> parameters() const { return contents()->parameters; }
  std::vector<NamedBuffer> buffers() const { return contents()->buffers; }

  // A new module is in training mode. The call also applies to its children.
  void set_training(bool training);
  bool is_training() const noexcept { return is_training_; }

  // A forward of a marked module that records keeps its inputs alone for backward, which runs forward_all again, once,
  // for the rest (autograd/recompute.h). Inside a marked module the marks of others have no effect. The module's own
  // hooks do not run again, those of the modules in it do.
  void set_recompute(bool recompute) noexcept { recomputes_ = recompute; }
  bool recomputes() const noexcept { return recomputes_; }

  // The recipe that layers under autocast have in this module and the modules in it, unless one of those has its own;
  // null: that of the modules around it, else the policy's.
  const Ref<const OwnRecipe>& own_recipe() const noexcept { return own_recipe_; }
  void set_own_recipe(Ref<const OwnRecipe> recipe) noexcept;
  // The device of a layer that multiplies by a weight of its own, whose recipe may keep a history; null for others.
  virtual ContextDevice* product_device() const noexcept { return nullptr; }

  // Returns true where the other is this module or a child of it, at any depth.
  bool holds(const Module& other) const;
  // The module at a path of names with dots between them, the empty path being this one's; null where there is none.
  const Module* find(std::string_view path) const;

  // A module of children returns them in turn, and null behind the last.
  virtual const Module* child(size_t index) const noexcept {
    static_cast<void>(index);
    return nullptr;
  }
  // REQUIRES: child(index) is not null.
  virtual std::string child_name(size_t index) const { return std::to_string(index); }

 protected:
  // For copied(): the parts are still those of the other.
  Module(const Module& other);
  ~Module() override;

  // The nesting depth of a module of children with these as well. Throws INVALID_ARGUMENT naming `argument` beyond
  // kMaxModuleDepth. A module does not know what holds it: where a child is given a child, the depth of the modules
  // around it does not grow, and run and contents() refuse what became too deep.
  int depth_with(std::span<const Ref<Module>> children, const char* argument) const;
  void set_depth(int depth) noexcept { depth_ = depth; }
  // Sets the depth anew, after a child was replaced or removed.
  void measure_depth() noexcept;
  // The member that holds the parameter of a name; null where there is none.
  virtual Ref<Parameter>* parameter_place(std::string_view name) noexcept {
    static_cast<void>(name);
    return nullptr;
  }
  // After every change of what contents() shows.
  static void mark_changed() noexcept;

  // Without recursion, since children that were added late may stand deeper than kMaxModuleDepth.
  void dispose() noexcept override;

 private:
  friend class DeadList<Module>;
  friend class ModuleRegion;  // nn/recompute.cpp

  // The functions that are not inlined stay out of run's frame, which is on the stack once for each level of modules.

  // Returns false where the caller left out inputs or outputs. Throws as run does where they do not fit.
  [[gnu::noinline]] bool has_all_tensors(std::span<const Tensor> inputs, size_t output_count) const;
  // forward_all, between the hooks where there are such. Part of run's frame.
  [[gnu::always_inline]] void compute(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // compute as a layer of the trace that is on.
  [[gnu::noinline]] void run_in_trace(const char* name, std::span<const Tensor> inputs,
                                      std::span<Tensor> outputs) const;
  // Adds the tensors that the caller left out.
  [[gnu::noinline]] void run_padded(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  [[gnu::noinline]] void forward_with_hooks(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // forward_marked, by the module's own recipe if it has one. Part of run's frame.
  [[gnu::always_inline]] void forward_by_recipe(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  [[gnu::noinline]] void forward_by_own_recipe(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // forward_all, in a recompute region if the module is marked.
  [[gnu::always_inline]] void forward_marked(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  [[gnu::noinline]] void forward_in_region(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // forward_all for the second time, as the layer at a path.
  void forward_again(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::string& path) const;
  void call_pre_hooks(std::span<Tensor> inputs) const;
  void call_hooks(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  // This module and its children at any depth, each once.
  std::vector<const Module*> all() const;
  Ref<Contents> collected() const;

  int depth_ = 1;  // modules in one another from this one on
  Module* next_dead_ = nullptr;
  bool recomputes_ = false;
  mutable bool is_training_ = true;  // children are reached as const
  Ref<const OwnRecipe> own_recipe_;
  mutable Ref<const Contents> contents_;
  Hooks<ForwardPreHook> forward_pre_hooks_;
  Hooks<ForwardHook> forward_hooks_;
};

}  // namespace halftone::nn
