// Proves the conversions from FP32 to the small float formats. Runs all 2^32 inputs, or a sample of N of them that is
// spread evenly and aimed at the ties, through the cast kernel of every available instruction set, and compares every
// result with NearestCode. Prints one line per format and instruction set; the exit status is 1 if any result is wrong.
//   convert_exhaustive [--sample N]      N a power of two from 2^16 to 2^32
#include <string>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "exhaustive/input_walk.h"
#include "nearest_code.h"

namespace halftone {
namespace {

// The buffers of one thread, and the comparison of one batch.
class Checker {
 public:
  explicit Checker(DType dtype) : dtype_(dtype), reference_(dtype), codes_(kBatch * size_of(dtype)) {}

  uint64_t count_wrong(std::vector<uint32_t>& words) {
    const Shape shape = {static_cast<int64_t>(kBatch)};
    const View in = {words.data(), DType::kF32, shape, {1}};
    const View out = {codes_.data(), dtype_, shape, {1}};
    if (!cpu::kConvertKernels.cast(stream_, in, out).ok()) return kBatch;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kBatch; ++i) wrong += code(i) != reference_.of_word(words[i]) ? 1 : 0;
    return wrong;
  }

 private:
  uint32_t code(uint64_t i) const {
    if (size_of(dtype_) == 1) return codes_[i];
    uint16_t code;
    std::memcpy(&code, &codes_[2 * i], sizeof code);
    return code;
  }

  DType dtype_;
  NearestCode reference_;
  std::vector<uint8_t> codes_;
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
};

bool check_instruction_set(int64_t target, uint64_t inputs) {
  bool all_right = true;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const std::string what = std::string("f32 -> ") + name_of(dtype);
    all_right = check_walk(what.c_str(), target, inputs, [dtype] { return Checker(dtype); }) && all_right;
  }
  return all_right;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  const uint64_t inputs = halftone::inputs_of(argc, argv);
  const auto check = [inputs](int64_t target) { return halftone::check_instruction_set(target, inputs); };
  return halftone::on_every_instruction_set(check) ? EXIT_SUCCESS : EXIT_FAILURE;
}
