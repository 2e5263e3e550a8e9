#include <gtest/gtest.h>

#include "cpu/convert/elements.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

Status cast(const HostTensor& in, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kConvertKernels.cast(stream, in.view(), out.view());
}

// A NaN must stay NaN in a float dtype; every other value has one correct pattern.
bool is_right(const HostTensor& in, const HostTensor& out, int64_t i) {
  const DType from = in.view().dtype;
  const DType to = out.view().dtype;
  if (from != to && is_float(to) && std::isnan(exact_value(from, get_bits(in, i)))) {
    return std::isnan(exact_value(to, get_bits(out, i)));
  }
  return get_bits(out, i) == cast_bits(from, to, get_bits(in, i));
}

void expect_right(const HostTensor& in, const HostTensor& out) {
  int64_t wrong = 0;
  int64_t first = -1;
  for (int64_t i = 0; i < in.numel(); ++i) {
    if (!is_right(in, out, i) && wrong++ == 0) first = i;
  }
  ASSERT_EQ(wrong, 0) << "first at " << first << ": " << std::hex << get_bits(in, first) << " became "
                      << get_bits(out, first);
  EXPECT_TRUE(out.guards_hold());
}

template <class Body>
void for_each_pair(Body&& body) {
  for (int32_t from = kDTypeFirst; from <= kDTypeLast; ++from) {
    for (int32_t to = kDTypeFirst; to <= kDTypeLast; ++to) {
      SCOPED_TRACE(std::string(name_of(static_cast<DType>(from))) + " to " + name_of(static_cast<DType>(to)));
      body(static_cast<DType>(from), static_cast<DType>(to));
    }
  }
}

void expect_right_at_every_size(DType from, DType to) {
  for (const int64_t size : {0, 1, 3, 31, 257, 1025}) {
    HostTensor in(from, {size});
    fill_bits(in, static_cast<uint64_t>(size) + 1);
    HostTensor out(to, {size});
    ASSERT_TRUE(cast(in, out).ok());
    expect_right(in, out);
  }
}

TEST(Cast, RoundsEveryPairOfDtypesOnce) {
  for_each_instruction_set([] { for_each_pair(expect_right_at_every_size); });
}

struct Strides {
  Shape in;
  Shape out;
};

// [5, 7, 33]: padded rows, reversed dimensions, every second element, one repeated row, one repeated element.
const Strides kStrides[] = {
    {{280, 40, 1}, {231, 33, 1}}, {{1, 5, 35}, {231, 33, 1}}, {{231, 33, 1}, {1, 5, 35}}, {{1, 5, 35}, {1, 5, 35}},
    {{462, 66, 2}, {462, 66, 2}}, {{0, 0, 1}, {231, 33, 1}},  {{0, 0, 0}, {280, 40, 1}},
};

void expect_right_at_all_strides(DType from, DType to) {
  for (const Strides& strides : kStrides) {
    HostTensor in(from, {5, 7, 33}, strides.in);
    fill_bits(in, 11);
    HostTensor out(to, {5, 7, 33}, strides.out);
    ASSERT_TRUE(cast(in, out).ok());
    expect_right(in, out);
  }
}

TEST(Cast, FollowsAnyStrides) {
  for_each_instruction_set([] { for_each_pair(expect_right_at_all_strides); });
}

// Memory orders that differ in their fastest dimension, with ragged blocks, outer dimensions, and many chunks.
struct Transposition {
  Shape shape;
  Shape in;
  Shape out;
};

const Transposition kTranspositions[] = {
    {{70, 65}, {1, 70}, {65, 1}},
    {{70, 65}, {65, 1}, {1, 70}},
    {{3, 67, 5, 129}, {43300, 1, 8660, 67}, {43215, 645, 129, 1}},
    {{2, 130, 100}, {1, 2, 260}, {13500, 100, 1}},
    {{300, 1, 401}, {1, 7, 300}, {401, 1, 1}},
};

TEST(Cast, TransposesEveryElementSize) {
  for (const Transposition& test : kTranspositions) {
    for (const DType dtype : {DType::kU8, DType::kBF16, DType::kF32, DType::kI64}) {
      HostTensor in(dtype, test.shape, test.in);
      fill_bits(in, 17);
      for (const int threads : {1, 3}) {
        HostTensor out(dtype, test.shape, test.out);
        ASSERT_TRUE(cast(in, out, threads).ok());
        expect_right(in, out);
      }
    }
  }
}

// The tensor's view, reversed along every dimension of `dims`.
View backwards(const HostTensor& tensor, uint32_t dims) {
  View view = tensor.view();
  int64_t first = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if ((dims >> d & 1) == 0) continue;
    first += (view.shape[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
  }
  view.data = static_cast<std::byte*>(view.data) + first * static_cast<int64_t>(size_of(view.dtype));
  return view;
}

// Row-major index of element `i` after the reversal.
int64_t mirrored(const Shape& shape, uint32_t dims, int64_t i) {
  int64_t result = 0, step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const int64_t at = i % shape[d];
    result += ((dims >> d & 1) != 0 ? shape[d] - 1 - at : at) * step;
    step *= shape[d];
    i /= shape[d];
  }
  return result;
}

TEST(Cast, ReadsBackwardsWhereStridesAreNegative) {
  const Shape shape = {5, 70, 67};
  for_each_instruction_set([&] {
    for (const Shape& strides : {contiguous_strides(shape), Shape{1, 5, 350}, Shape{9400, 134, 2}}) {
      for (const DType from : {DType::kU8, DType::kBF16, DType::kF32, DType::kI64}) {
        HostTensor in(from, shape, strides);
        fill_bits(in, 23);
        for (const DType to : {from, DType::kF64}) {
          for (uint32_t dims = 0; dims < 8; ++dims) {
            HostTensor expected(to, shape), out(to, shape);
            ASSERT_TRUE(cast(in, expected).ok());
            ThreadPool pool(2);
            cpu::CpuStream stream(pool);
            ASSERT_TRUE(cpu::kConvertKernels.cast(stream, backwards(in, dims), out.view()).ok());
            for (int64_t i = 0; i < out.numel(); ++i) {
              ASSERT_EQ(get_bits(out, i), get_bits(expected, mirrored(shape, dims, i))) << i;
            }
            EXPECT_TRUE(out.guards_hold());
          }
        }
      }
    }
  });
}

TEST(Cast, TakesAScalar) {
  HostTensor in(DType::kF32, {});
  in.set(0, 2.5);
  HostTensor out(DType::kBF16, {});
  ASSERT_TRUE(cast(in, out).ok());
  EXPECT_EQ(out.get(0), 2.5);
}

// N12
TEST(Cast, GivesTheSameBitsOnEveryInstructionSet) {
  for_each_pair([](DType from, DType to) {
    HostTensor in(from, {4099});
    fill_bits(in, 5);
    std::vector<std::vector<std::byte>> results;
    for_each_instruction_set([&] {
      HostTensor out(to, {4099});
      ASSERT_TRUE(cast(in, out).ok());
      results.push_back(out.bytes());
    });
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  });
}

TEST(Cast, GivesTheSameBitsOnAnyNumberOfThreads) {
  HostTensor in(DType::kF32, {3, 100001});
  fill_bits(in, 3);
  HostTensor one(DType::kBF16, {3, 100001});
  ASSERT_TRUE(cast(in, one, 1).ok());
  expect_right(in, one);
  for (const int threads : {2, 7}) {
    HostTensor out(DType::kBF16, {3, 100001});
    ASSERT_TRUE(cast(in, out, threads).ok());
    EXPECT_EQ(out.bytes(), one.bytes());
  }
}

TEST(Cast, CopiesATensorOntoItself) {
  HostTensor tensor(DType::kF16, {1000});
  fill_bits(tensor, 9);
  const std::vector<std::byte> before = tensor.bytes();
  ASSERT_TRUE(cast(tensor, tensor).ok());
  EXPECT_EQ(tensor.bytes(), before);
}

TEST(Cast, CountsEveryByteButZeroAsTrue) {
  for_each_instruction_set([] {
    HostTensor in(DType::kBool, {256});
    for (int64_t i = 0; i < 256; ++i) set_bits(in, i, static_cast<uint64_t>(i));
    HostTensor out(DType::kF32, {256});
    ASSERT_TRUE(cast(in, out).ok());
    for (int64_t i = 0; i < 256; ++i) EXPECT_EQ(out.get(i), i == 0 ? 0 : 1);
  });
}

}  // namespace
}  // namespace halftone
