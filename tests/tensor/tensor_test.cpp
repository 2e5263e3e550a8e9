#include "tensor/tensor.h"

#include "room_fixture.h"
#include "tensor/dlpack.h"

namespace halftone {
namespace {

class TensorTest : public RoomTest {};

TEST_F(TensorTest, ReadsARangeOfAStrideInRowMajorOrder) {
  const Tensor matrix = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns = matrix.as_strided({3, 2}, {1, 3}, 0);
  EXPECT_EQ(values(columns), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_TRUE(contiguous(columns).is_contiguous());
  EXPECT_EQ(values(contiguous(columns)), values(columns));
}

TEST_F(TensorTest, CountsEveryInPlaceWriteInTheVersion) {
  const Tensor target = tensor({2}, {1, 2});
  const uint64_t before = target.version();
  fill(target, 3);
  copy(tensor({2}, {4, 5}), target);
  const double host[2] = {6, 7};
  write_from_host(target, DType::kF64, host);
  fill_uniform(target, {.seed = 1, .sequence = 2}, 0, 1);
  fill_normal(target, {.seed = 1, .sequence = 2}, 0, 1);
  EXPECT_EQ(target.version(), before + 5);
}

TEST_F(TensorTest, WritesThroughAViewIntoTheSharedStorage) {
  const Tensor matrix = tensor({2, 2}, {1, 2, 3, 4});
  const Tensor column = matrix.as_strided({2}, {2}, 1);
  const double host[2] = {20, 40};
  write_from_host(column, DType::kF64, host);
  EXPECT_EQ(values(matrix), (std::vector<double>{1, 20, 3, 40}));
}

TEST_F(TensorTest, RunsTheDeleterOnceAfterTheLastReference) {
  int runs = 0;
  float memory[4] = {1, 2, 3, 4};
  {
    Tensor first = from_buffer(device(), DType::kF32, {4}, memory);
    first.storage()->set_deleter([](void* user) { ++*static_cast<int*>(user); }, &runs);
    const Tensor view = first.as_strided({2}, {1}, 2);
    first = Tensor();
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(values(view), (std::vector<double>{3, 4}));
  }
  EXPECT_EQ(runs, 1);
}

// As of weights that ranks share, which are gathered for a time.
TEST_F(TensorTest, MemoryThatIsLentOutlivesItsRelease) {
  const int64_t before = device().allocator->stats().current;
  Tensor lent = tensor({2}, {1, 2});
  DLManagedTensorVersioned* const loan = to_dlpack_versioned(lent);
  const auto* const elements = static_cast<const float*>(loan->array.data);
  lent.storage()->release_memory();
  EXPECT_EQ(elements[1], 2);
  EXPECT_THROW(static_cast<void>(to_dlpack(lent)), Error);
  lent.storage()->refill();
  EXPECT_NE(lent.data(), static_cast<const void*>(elements));
  fill(lent, 9);
  lent = Tensor();
  EXPECT_EQ(elements[1], 2);
  EXPECT_GT(device().allocator->stats().current, before);
  loan->deleter(loan);
  EXPECT_EQ(device().allocator->stats().current, before);
}

TEST_F(TensorTest, GivesAllMemoryBack) {
  const int64_t before = device().allocator->stats().current;
  {
    const Tensor kept = full(device(), DType::kF32, {1000}, 1.0);
    EXPECT_EQ(device().allocator->stats().current, before + 4000);
  }
  EXPECT_EQ(device().allocator->stats().current, before);
}

TEST_F(TensorTest, ItemRefusesMoreThanOneElement) {
  EXPECT_EQ(item(tensor({}, {2.5})), 2.5);
  EXPECT_EQ(item(tensor({1, 1}, {2.5})), 2.5);
  EXPECT_EQ(code_of([&] { item(tensor({2}, {1, 2})); }), Code::kShapeMismatch);
  EXPECT_EQ(code_of([&] { item(tensor({0}, {})); }), Code::kShapeMismatch);
}

TEST_F(TensorTest, AnEmptyTensorHasNoMemory) {
  const Tensor empty_tensor = empty(device(), DType::kF32, {3, 0, 2});
  EXPECT_EQ(empty_tensor.data(), nullptr);
  EXPECT_TRUE(values(empty_tensor).empty());
  EXPECT_TRUE(empty_tensor.is_contiguous());
}

TEST_F(TensorTest, AMarkCoversTheStoragesThatAreMadeUnderIt) {
  const Tensor before = tensor({2}, {1, 2});
  Tensor inside, nested;
  {
    const StorageMark mark;
    inside = tensor({2}, {1, 2});
    {
      const StorageMark inner;
      nested = tensor({2}, {1, 2});
      EXPECT_TRUE(inner.covers(*nested.storage()));
      EXPECT_FALSE(inner.covers(*inside.storage()));
    }
    EXPECT_TRUE(mark.covers(*inside.detach().storage()));
    EXPECT_FALSE(mark.covers(*before.storage()));
    EXPECT_FALSE(mark.covers(*nested.storage()));
  }
  EXPECT_FALSE(StorageMark().covers(*inside.storage()));
}

}  // namespace
}  // namespace halftone
