#include "cuda/dnn/handle.h"

#include <algorithm>
#include <new>

#include "cuda/base/current_device.h"
#include "cuda/dnn/call.h"
#include "cuda/dnn/functions.h"

namespace halftone::cuda {
namespace {

// The part of the device's memory that an algorithm may ask for: 1.25 GiB of 80.
constexpr size_t kWorkspaceShare = 64;
// Problems to remember. Further ones run without cuDNN: to forget one between its two calls would change its workspace.
constexpr size_t kMostProblems = 16384;
// Algorithms of a pass, in two kinds of arithmetic each.
constexpr int kMostFound = 16;

// FP32 without TF32 keeps its own arithmetic: found.math may be the default, which rounds to TF32.
DnnMath math_of(const DnnProblem& problem, const DnnFound& found) {
  return problem.math == DnnMath::kFma ? DnnMath::kFma : found.math;
}

// Sizes are those of the arithmetic that the call is going to use.
bool find(const DnnFunctions& dnn, DnnContext* context, const DnnProblem& problem, size_t most_workspace,
          DnnChoice* out) noexcept {
  const DnnCall call(dnn, problem);
  DnnFound found[kMostFound] = {};
  if (!call.is_complete()) return false;
  const int count = std::min(call.find(context, found, kMostFound), kMostFound);
  for (int i = 0; i < count; ++i) {
    size_t bytes = 0;
    const DnnMath math = math_of(problem, found[i]);
    if (!is_exact(problem, found[i]) || !call.set_math(math)) continue;
    if (!call.find_workspace(context, found[i].algorithm, &bytes) || bytes > most_workspace) continue;
    *out = {.algorithm = found[i].algorithm, .math = math, .workspace = bytes};
    return true;
  }
  return false;
}

DnnStatus run_forward(const DnnFunctions& dnn, DnnContext* context, const DnnCall& call, const DnnChoice& choice,
                      const DnnPointers& at) noexcept {
  const float one = 1, zero = 0;
  if (call.bias() == nullptr) {
    return dnn.forward(context, &one, call.input(), at.input, call.weight(), at.weight, call.convolution(),
                       choice.algorithm, at.workspace, choice.workspace, &zero, call.output(), at.output);
  }
  return dnn.forward_with_bias(context, &one, call.input(), at.input, call.weight(), at.weight, call.convolution(),
                               choice.algorithm, at.workspace, choice.workspace, &zero, call.output(), at.output,
                               call.bias(), at.bias, call.identity(), call.output(), at.output);
}

DnnStatus run_call(const DnnFunctions& dnn, DnnContext* context, const DnnProblem& problem, const DnnChoice& choice,
                   const DnnPointers& at) noexcept {
  const DnnCall call(dnn, problem);
  if (!call.is_complete() || !call.set_math(choice.math)) return DnnStatus::kInternalError;
  if (problem.pass == ConvPass::kForward) return run_forward(dnn, context, call, choice, at);
  const float one = 1, kept = problem.adds || problem.has_bias ? 1 : 0;
  if (problem.pass == ConvPass::kGradInput) {
    return dnn.grad_input(context, &one, call.weight(), at.weight, call.output(), at.output, call.convolution(),
                          choice.algorithm, at.workspace, choice.workspace, &kept, call.input(), at.input);
  }
  return dnn.grad_weight(context, &one, call.input(), at.input, call.output(), at.output, call.convolution(),
                         choice.algorithm, at.workspace, choice.workspace, &kept, call.weight(), at.weight);
}

}  // namespace

DnnHandle::~DnnHandle() {
  if (context_ == nullptr) return;
  const CurrentDevice current(device_);
  functions_.destroy(context_);
}

// A device without a handle for its lack of memory has no cuDNN from then on.
bool DnnHandle::open() noexcept {
  if (has_tried_) return context_ != nullptr;
  has_tried_ = true;
  size_t free = 0, total = 0;
  const CurrentDevice current(device_);
  if (!open_dnn(&functions_) || cudaMemGetInfo(&free, &total) != cudaSuccess) return false;
  most_workspace_ = total / kWorkspaceShare;
  if (functions_.create(&context_) != DnnStatus::kSuccess) context_ = nullptr;
  return context_ != nullptr;
}

// The entry is made before the search, so that the outcome is never forgotten. Without memory for one, further problems
// run without cuDNN, as beyond kMostProblems.
DnnHandle::Entry* DnnHandle::entry_of(const DnnProblem& problem) noexcept {
  if (const auto found = chosen_.find(problem); found != chosen_.end()) return &found->second;
  if (is_full_ || chosen_.size() == kMostProblems) return nullptr;
  try {
    Entry& entry = chosen_[problem];
    const CurrentDevice current(device_);
    entry.is_possible = find(functions_, context_, problem, most_workspace_, &entry.choice);
    return &entry;
  } catch (const std::bad_alloc&) {
    is_full_ = true;
    return nullptr;
  }
}

bool DnnHandle::choose(const DnnProblem& problem, DnnChoice* out) noexcept {
  const std::lock_guard lock(mutex_);
  if (!open()) return false;
  const Entry* entry = entry_of(problem);
  if (entry == nullptr || !entry->is_possible) return false;
  *out = entry->choice;
  return true;
}

void DnnHandle::note(const DnnProblem& problem, DnnStatus status) noexcept {
  Entry& entry = chosen_.find(problem)->second;
  entry.choice.is_proven |= status == DnnStatus::kSuccess;
  if (!entry.choice.is_proven && is_refusal(status)) entry.is_possible = false;
}

DnnStatus DnnHandle::run(const DnnProblem& problem, const DnnChoice& choice, const DnnPointers& pointers,
                         cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  const CurrentDevice current(device_);
  DnnStatus status = functions_.set_stream(context_, stream);
  if (status == DnnStatus::kSuccess) status = run_call(functions_, context_, problem, choice, pointers);
  note(problem, status);
  return status;
}

}  // namespace halftone::cuda
