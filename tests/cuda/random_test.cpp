// Random tensors of a CUDA device have the CPU's bits, and faults in data its messages.
#include <string>
#include <vector>

#include "backend/kernels/kernels.h"
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr PhiloxKey kKey = {.seed = 7, .sequence = 3};

class RandomOnCuda : public RoomTest {
 protected:
  ContextDevice& cuda() { return cuda_device(context()); }

  // The elements that draw(kernels, stream, view) writes to a tensor of a device.
  template <class Draw>
  static std::vector<double> drawn(ContextDevice& on, DType dtype, const Shape& shape, const Draw& draw) {
    const Tensor made = full(on, dtype, shape, 0.0);
    check(draw(on.device->kernels(), on.device->stream(), made.view()));
    return values(made);
  }
  template <class Draw>
  void expect_equal(DType dtype, const Shape& shape, const Draw& draw) {
    EXPECT_EQ(drawn(cuda(), dtype, shape, draw), drawn(device(), dtype, shape, draw)) << name_of(dtype);
  }

  // The message of the next wait after a kernel found a fault.
  template <class Run>
  std::string fault_of(const Run& run) {
    Device& device = *cuda().device;
    const Status queued = run(device.kernels(), device.stream());
    EXPECT_TRUE(queued.ok()) << queued.message;
    const Status first = device.stream().synchronize();
    EXPECT_EQ(first.code, Code::kInvalidArgument);
    EXPECT_TRUE(device.stream().synchronize().ok()) << "a wait clears the fault";
    return first.ok() ? "" : first.message;
  }
};

TEST_F(RandomOnCuda, NumbersAreThoseOfTheCpu) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t size : {0, 1, 7, 8, 1001}) {
      expect_equal(dtype, {size}, [](const Kernels& kernels, Stream& stream, const View& out) {
        return kernels.random.uniform(stream, kKey, -1.5, 2.5, out);
      });
      expect_equal(dtype, {size}, [](const Kernels& kernels, Stream& stream, const View& out) {
        return kernels.random.normal(stream, kKey, 0.5, 2.0, out);
      });
    }
  }
}

TEST_F(RandomOnCuda, PermutationsAreThoseOfTheCpu) {
  for (const int64_t size : {0, 1, 2, 1000}) {
    expect_equal(DType::kI64, {size}, [](const Kernels& kernels, Stream& stream, const View& out) {
      return kernels.random.permutation(stream, kKey, out);
    });
  }
}

// A23
TEST_F(RandomOnCuda, AnIndexOutOfRangeIsTheFaultOfTheNextWait) {
  const int64_t entries[] = {1, 2, 9, 3};
  const Tensor indices = from_host(cuda(), DType::kI64, {2, 2}, entries);
  const std::string text = fault_of([&](const Kernels& kernels, Stream& stream) {
    return kernels.index.check_range(stream, "indices", indices.view(), 4);
  });
  EXPECT_EQ(text, "indices[1, 0]=9 is outside [0, 4)");
}

TEST_F(RandomOnCuda, ADivisorOf0IsTheFaultOfTheNextWait) {
  const int64_t numbers[] = {1, -2, 3, 0};
  const Tensor divisor = from_host(cuda(), DType::kI64, {2, 2}, numbers);
  const std::string text = fault_of([&](const Kernels& kernels, Stream& stream) {
    return kernels.elementwise.check_divisor(stream, "b", divisor.view());
  });
  EXPECT_EQ(text, "b[1, 1] is 0, and an integer divided by 0 has no value");
}

TEST_F(RandomOnCuda, WeightsThatAreNoneAreFaults) {
  const auto fault_of_weights = [&](const std::vector<double>& weights, bool replaces) {
    const auto rows = static_cast<int64_t>(weights.size()) / 2;
    const Tensor given = from_host(cuda(), DType::kF64, {rows, 2}, weights.data());
    const Tensor out = full(cuda(), DType::kI64, {rows, 2}, 0.0);
    Device& device = *cuda().device;
    const size_t bytes = device.kernels().select.draw_workspace(device.stream(), given.view());
    const Tensor scratch = full(cuda(), DType::kU8, {static_cast<int64_t>(bytes)}, 0.0);
    return fault_of([&](const Kernels& kernels, Stream& stream) {
      return kernels.select.draw_categories(stream, {kKey, replaces}, given.view(), scratch.view().data, out.view());
    });
  };
  EXPECT_EQ(fault_of_weights({1, 1, 2, -3}, true),
            "probabilities has -3 at 1 of row 1, expected finite numbers of at least 0");
  EXPECT_EQ(fault_of_weights({1, 0}, false), "probabilities has 1 above 0 in row 0, expected at least 2");
  EXPECT_EQ(fault_of_weights({1.5e308, 1.5e308}, true), "probabilities has a sum beyond f64 in row 0");
}

}  // namespace
}  // namespace halftone
