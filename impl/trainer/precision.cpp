#include "trainer/precision.h"

#include <cstring>

namespace halftone::trainer {

namespace {

// docs/trainer.md and capi/include/halftone/trainer.h list the names.
constexpr Precision kPrecisions[] = {{"fp32", DType::kF32, {}},
                                     {"bf16", DType::kBF16, {}},
                                     {"fp16", DType::kF16, {}},
                                     {"fp8-delayed", DType::kBF16, RecipeKind::kDelayed},
                                     {"fp8-current", DType::kBF16, RecipeKind::kCurrent},
                                     {"fp8-block", DType::kBF16, RecipeKind::kBlock},
                                     {"mxfp8", DType::kBF16, RecipeKind::kMxfp8},
                                     {"nvfp4", DType::kBF16, RecipeKind::kNvfp4}};

}  // namespace

std::span<const Precision> precisions() noexcept { return kPrecisions; }

const Precision* precision_named(const char* name) noexcept {
  for (const Precision& precision : kPrecisions) {
    if (std::strcmp(precision.name, name) == 0) return &precision;
  }
  return nullptr;
}

}  // namespace halftone::trainer
