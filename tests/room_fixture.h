// A context with the CPU device, and short functions that make and read small tensors, for the tests of the layers
// above the backend.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {

inline constexpr uint64_t kRoomSeed = 7;

class RoomTest : public testing::Test {
 protected:
  static ContextOptions options() {
    ContextOptions options;
    options.num_threads = 2;
    options.seed = kRoomSeed;
    return options;
  }

  Tensor tensor(const Shape& shape, const std::vector<double>& values, DType dtype = DType::kF32) {
    const Tensor wide = from_host(device(), DType::kF64, shape, values.data());
    return converted(wide, dtype);
  }
  Tensor leaf(const Shape& shape, const std::vector<double>& values, DType dtype = DType::kF32) {
    Tensor result = tensor(shape, values, dtype);
    set_requires_grad(result, true);
    return result;
  }
  static std::vector<double> values(const Tensor& tensor) {
    std::vector<double> result(static_cast<size_t>(tensor.numel()));
    read_to_host(tensor, DType::kF64, result.data());
    return result;
  }
  static std::vector<double> grad(const Tensor& leaf) { return values(accumulator_of(leaf)->grad()); }

  ContextDevice& device() { return context_->device("cpu"); }
  Context& context() { return *context_; }

 private:
  Ref<Context> context_ = make_ref<Context>(options());
};

// Runs `action` and returns the code of the Error that it throws, or kOk if it throws none.
template <class Action>
Code code_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

}  // namespace halftone
