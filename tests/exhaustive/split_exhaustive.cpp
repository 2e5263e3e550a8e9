// Proves the split of FP32 weights. Runs all 2^32 patterns, or a sample of N of them, through the kernels of every
// available instruction set. Join must restore every pattern. The upper part must be (bits + 0x8000) >> 16, which is
// round to nearest even except for ties, which round away from zero. Prints one line per instruction set; the exit
// status is 1 if anything is wrong.
//   split_exhaustive [--sample N]      N a power of two from 2^16 to 2^32
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "exhaustive/input_walk.h"
#include "nearest_code.h"

namespace halftone {
namespace {

bool is_nan(uint32_t word) { return (word & 0x7fffffff) > 0x7f800000; }

class Checker {
 public:
  uint64_t count_wrong(std::vector<uint32_t>& words) {
    const Shape shape = {static_cast<int64_t>(kBatch)};
    const View master = {words.data(), DType::kF32, shape, {1}};
    const View high = {high_.data(), DType::kBF16, shape, {1}};
    const View remainder = {remainder_.data(), DType::kI16, shape, {1}};
    const View joined = {joined_.data(), DType::kF32, shape, {1}};
    const OptimKernels& kernels = cpu::kOptimKernels;
    if (!kernels.split_master(stream_, master, high, remainder).ok()) return kBatch;
    if (!kernels.join_master(stream_, high, remainder, joined).ok()) return kBatch;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kBatch; ++i) wrong += joined_[i] != words[i] || !is_right(words[i], high_[i]) ? 1 : 0;
    return wrong;
  }

 private:
  // A NaN is rounded like a number.
  bool is_right(uint32_t word, uint16_t high) {
    if (high != static_cast<uint16_t>((uint64_t{word} + 0x8000) >> 16)) return false;
    if (is_nan(word)) return true;
    const uint32_t truncated = word >> 16;
    const bool is_tie = (word & 0xffff) == 0x8000;
    return high == (is_tie ? truncated + 1 : nearest_even_.of_word(word));
  }

  NearestCode nearest_even_{DType::kBF16};
  std::vector<uint16_t> high_ = std::vector<uint16_t>(kBatch);
  std::vector<int16_t> remainder_ = std::vector<int16_t>(kBatch);
  std::vector<uint32_t> joined_ = std::vector<uint32_t>(kBatch);
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
};

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  using namespace halftone;
  const uint64_t inputs = inputs_of(argc, argv);
  const auto check = [inputs](int64_t target) {
    return check_walk("split, join", target, inputs, [] { return Checker(); });
  };
  return on_every_instruction_set(check) ? EXIT_SUCCESS : EXIT_FAILURE;
}
