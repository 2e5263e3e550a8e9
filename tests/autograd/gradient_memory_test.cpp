// The memory of gradients: the first delivery allocates it, and zero_grad releases it, unless other code refers to
// it.
#include "autograd/leaf/accumulate_grad.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr int64_t kSize = 5000;  // more than a page

class GradientMemoryTest : public RoomTest {
 protected:
  Tensor make_leaf() { return leaf({kSize}, std::vector<double>(kSize, 1.0)); }
  static void backward(const Tensor& leaf, double factor) {
    run_backward(ops::sum(ops::rescale(leaf, factor, 0), {}, false), Tensor(), false);
  }
  static std::vector<double> all(double value) { return std::vector<double>(kSize, value); }
  int64_t gradient_bytes() { return device().allocator->stats().by_category[static_cast<int>(Category::kGradients)]; }
  // Takes the memory that was released last, so that a gradient which is still there must not be in it.
  Tensor take_released() { return full(device(), DType::kF32, {kSize}, 99.0); }
};

TEST_F(GradientMemoryTest, BackwardAllocatesItAndZeroGradReleasesIt) {
  const Tensor x = make_leaf();
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(gradient_bytes(), 0) << step;
    backward(x, 2);
    EXPECT_EQ(gradient_bytes(), 4 * kSize) << step;
    backward(x, 3);
    EXPECT_EQ(gradient_bytes(), 4 * kSize) << step;
    EXPECT_EQ(grad(x), all(5)) << step;
    accumulator_of(x)->zero_grad();
    EXPECT_FALSE(accumulator_of(x)->memory().exists()) << step;
  }
}

// The limit lets no other memory serve the tensor.
TEST_F(GradientMemoryTest, ServesOtherTensorsAfterZeroGrad) {
  constexpr int64_t kPage = 4096;
  const Tensor x = make_leaf();
  backward(x, 2);
  device().allocator->set_limit(device().allocator->stats().reserved);
  std::vector<Tensor> hoard;
  while (code_of([&] { hoard.push_back(empty(device(), DType::kU8, {kPage})); }) == Code::kOk) continue;
  EXPECT_EQ(code_of([&] { take_released(); }), Code::kOutOfMemory);
  accumulator_of(x)->zero_grad();
  const Tensor other = take_released();
  hoard.clear();
  backward(x, 3);
  EXPECT_EQ(grad(x), all(3));
  EXPECT_EQ(values(other), all(99));
}

// As capi/include/halftone/autograd.h says: it changes with the next backward.
TEST_F(GradientMemoryTest, OfATensorThatSomebodyHoldsStaysWithItsValuesUntilTheNextBackward) {
  const Tensor x = make_leaf();
  backward(x, 2);
  Tensor held = accumulator_of(x)->grad().detach();
  accumulator_of(x)->zero_grad();
  EXPECT_FALSE(accumulator_of(x)->has_grad());
  const Tensor other = take_released();
  EXPECT_EQ(values(held), all(2));
  backward(x, 3);
  EXPECT_EQ(values(held), all(3));
  EXPECT_EQ(gradient_bytes(), 4 * kSize);
  held = Tensor();
  accumulator_of(x)->zero_grad();
  EXPECT_EQ(gradient_bytes(), 0);
}

TEST_F(GradientMemoryTest, OfAViewThatSomebodyHoldsStaysToo) {
  const Tensor x = make_leaf();
  backward(x, 2);
  const Tensor row = accumulator_of(x)->grad().as_strided({10}, {1}, 100);
  accumulator_of(x)->zero_grad();
  const Tensor other = take_released();
  EXPECT_EQ(values(row), std::vector<double>(10, 2.0));
  backward(x, 3);
  EXPECT_EQ(values(row), std::vector<double>(10, 3.0));
}

// A hook may keep the tensor object itself.
TEST_F(GradientMemoryTest, OfTheTensorItselfStaysToo) {
  const Tensor x = make_leaf();
  backward(x, 2);
  const Tensor same = accumulator_of(x)->grad();
  accumulator_of(x)->zero_grad();
  EXPECT_TRUE(accumulator_of(x)->memory().exists());
  backward(x, 3);
  EXPECT_EQ(values(same), all(3));
}

TEST_F(GradientMemoryTest, OfAFlatBufferStays) {
  const Tensor x = make_leaf();
  const Tensor flat = full(device(), DType::kF32, {2 * kSize}, 0.0);
  accumulator_of(x)->memory().take(flat.as_strided({kSize}, {1}, kSize), DType::kF32);
  backward(x, 2);
  accumulator_of(x)->zero_grad();
  backward(x, 3);
  EXPECT_EQ(values(flat)[2 * kSize - 1], 3);
}

class Owner final : public GradientMemory {
 public:
  void prepare() override { ++calls; }
  int calls = 0;
};

TEST_F(GradientMemoryTest, WithAnOwnerStays) {
  const Tensor x = make_leaf();
  Owner owner;
  accumulator_of(x)->memory().set_owner(&owner);
  backward(x, 2);
  accumulator_of(x)->zero_grad();
  EXPECT_TRUE(accumulator_of(x)->memory().exists());
  backward(x, 3);
  EXPECT_EQ(owner.calls, 2);
  accumulator_of(x)->memory().set_owner(nullptr);
  accumulator_of(x)->zero_grad();
  EXPECT_FALSE(accumulator_of(x)->memory().exists());
}

// M7
TEST_F(GradientMemoryTest, OfAnInvalidGradientIsReleasedToo) {
  const Tensor x = make_leaf();
  backward(x, 2);
  accumulator_of(x)->invalidate();
  accumulator_of(x)->zero_grad();
  EXPECT_EQ(gradient_bytes(), 0);
  backward(x, 3);
  EXPECT_EQ(grad(x), all(3));
}

TEST_F(GradientMemoryTest, OfABroughtGradientIsNotWrittenAndGoesWithIt) {
  const Tensor x = make_leaf();
  const Tensor brought = tensor({kSize}, all(7));
  accumulator_of(x)->bring_grad(brought.detach());
  EXPECT_EQ(gradient_bytes(), 0);
  accumulator_of(x)->zero_grad();
  EXPECT_TRUE(brought.is_sole());
  backward(x, 3);
  EXPECT_EQ(grad(x), all(3));
  EXPECT_EQ(values(brought), all(7));
}

// A forward whose tensors need the limit's memory without gradients.
TEST_F(GradientMemoryTest, IsThereForTheForward) {
  const Tensor x = make_leaf();
  backward(x, 2);
  accumulator_of(x)->zero_grad();
  device().allocator->reset_peak();
  const int64_t before = device().allocator->stats().current;
  const Tensor result = ops::rescale(x, 2, 0);
  EXPECT_EQ(device().allocator->stats().peak, before + 4 * kSize);
  EXPECT_EQ(before, 4 * kSize) << "the weights alone";
}

}  // namespace
}  // namespace halftone
