#include "ops/op.h"

#include <cstring>

namespace halftone {

namespace {

constexpr const char* kNames[kOpCount] = {
    "add",  "sub",     "mul",         "div",           "matmul",  "linear",   "sum",     "mean",      "relu",
    "gelu", "softmax", "log_softmax", "cross_entropy", "rescale", "accuracy", "reshape", "transpose", "slice",
    "cast",
};

}  // namespace

const char* name_of(Op op) noexcept { return kNames[static_cast<int>(op)]; }

bool find_op(const char* name, Op* out) noexcept {
  for (int i = 0; i < kOpCount; ++i) {
    if (std::strcmp(kNames[i], name) == 0) {
      *out = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

}  // namespace halftone
