#include "cuda/gemm/lt_handle.h"

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <new>

#include "cuda/base/current_device.h"
#include "cuda/base/warning.h"
#include "cuda/gemm/lt_call.h"

namespace halftone::cuda {
namespace {

// Scratch that an algorithm may ask for.
constexpr size_t kMostWorkspace = 32 << 20;
// Problems to remember; a program with more shapes begins anew.
constexpr size_t kMostProblems = 4096;

// The limits on an algorithm: scratch, and the alignment of the memory.
class Preference {
 public:
  Preference(const LtFunctions& lt, const LtProblem& problem) noexcept : lt_(lt) {
    const uint64_t workspace = kMostWorkspace;
    is_complete_ = lt.create_preference(&native_) == CUBLAS_STATUS_SUCCESS &&
                   set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace) &&
                   // Parts of a sum are added in FP32, as one sum would be, and not in the type of the result.
                   set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(problem.a.alignment)) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(problem.b.alignment)) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(problem.c.alignment)) &&
                   set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(problem.d.alignment));
  }
  ~Preference() {
    if (native_ != nullptr) lt_.destroy_preference(native_);
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  bool is_complete() const noexcept { return is_complete_; }
  cublasLtMatmulPreference_t native() const noexcept { return native_; }

 private:
  template <class T>
  bool set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) noexcept {
    return lt_.set_preference(native_, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
  }

  const LtFunctions& lt_;
  cublasLtMatmulPreference_t native_ = nullptr;
  bool is_complete_ = false;
};

// Memory of an alignment, which is not touched.
const void* address_of(int32_t alignment) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(alignment));  // NOLINT(performance-no-int-to-ptr)
}

enum class Search { kFound, kNone, kFailed };

// Scales of blocks are parts of a workspace.
constexpr int32_t kScaleAlignment = 256;

// An algorithm has no limits on the alignment of a bias, an argument and scales of blocks but those of the pointers
// that are set.
Search find(const LtFunctions& lt, cublasLtHandle_t handle, const LtProblem& problem, LtChoice* out) noexcept {
  const int32_t scale_alignment = problem.mode_of_a != 0 ? kScaleAlignment : 0;
  const LtCall call(lt, problem,
                    {.bias = address_of(problem.bias_alignment),
                     .argument = address_of(problem.argument_alignment),
                     .scale_a = address_of(scale_alignment),
                     .scale_b = address_of(scale_alignment)});
  const Preference preference(lt, problem);
  if (!call.is_complete() || !preference.is_complete()) return Search::kFailed;
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const cublasStatus_t status = lt.find_algorithms(handle, call.description(), call.a(), call.b(), call.c(), call.d(),
                                                   preference.native(), 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0 || found.state != CUBLAS_STATUS_SUCCESS) return Search::kNone;
  *out = {.algorithm = found.algo, .workspace = found.workspaceSize};
  return Search::kFound;
}

// Once for a program: the sizes that slow one product down are those of others, too.
void advise(const LtProblem& problem) noexcept {
  static std::atomic<bool> is_said{false};
  if (!is_misaligned(problem) || is_said.exchange(true)) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "a product of 16-bit matrices whose rows are %" PRId64 ", %" PRId64 " and %" PRId64
                " elements long is slower than it could be: GPUs are fastest if these are multiples of 8",
                problem.a.leading, problem.b.leading, problem.d.leading);
  warn(text);
}

}  // namespace

LtHandle::~LtHandle() {
  if (handle_ == nullptr) return;
  const CurrentDevice current(device_);
  lt_functions()->destroy(handle_);
}

bool LtHandle::open() noexcept {
  if (!has_tried_ && lt_functions() != nullptr) {
    const CurrentDevice current(device_);
    if (lt_functions()->create(&handle_) != CUBLAS_STATUS_SUCCESS) handle_ = nullptr;
  }
  has_tried_ = true;
  return handle_ != nullptr;
}

bool LtHandle::choose(const LtProblem& problem, LtChoice* out) noexcept {
  const std::lock_guard lock(mutex_);
  if (!open()) return false;
  if (const auto found = chosen_.find(problem); found != chosen_.end()) {
    *out = found->second.choice;
    return found->second.is_found;
  }
  const CurrentDevice current(device_);
  const Search search = find(*lt_functions(), handle_, problem, out);
  if (search == Search::kFailed) return false;
  const bool is_found = search == Search::kFound;
  if (is_found) advise(problem);
  try {
    if (chosen_.size() == kMostProblems) chosen_.clear();
    chosen_.emplace(problem, Answer{is_found, *out});
  } catch (const std::bad_alloc&) {
    // It is sought again the next time.
  }
  return is_found;
}

}  // namespace halftone::cuda
