// Ranks without the others, over the device "meta".
#include "ranks.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

class MetaGroupTest : public testing::Test {
 protected:
  static constexpr int kRanks = 8;

  OwnedGroup make_group(const char* device, int rank = 3) const {
    return create_group("meta", *context_, {.device = context_->device(device).device, .rank = rank, .size = kRanks});
  }
  ContextDevice& meta() const { return context_->device("meta"); }
  Tensor values(const std::vector<int64_t>& all) const {
    return from_host(meta(), DType::kI64, {static_cast<int64_t>(all.size())}, all.data());
  }
  static std::vector<int64_t> read(const Tensor& tensor) {
    std::vector<int64_t> all(static_cast<size_t>(tensor.numel()));
    read_to_host(tensor, DType::kI64, all.data());
    return all;
  }

  Ref<Context> context_ = make_rank_context();
};

TEST_F(MetaGroupTest, NeedsTheDeviceThatHasNoContent) {
  try {
    make_group("cpu");
    FAIL() << "made a group";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("need the device meta, not cpu"), std::string::npos) << error.what();
  }
}

TEST_F(MetaGroupTest, AllRanksHaveWhatThisOneHas) {
  const OwnedGroup group = make_group("meta");
  EXPECT_EQ(group->rank(), 3);
  EXPECT_EQ(group->size(), kRanks);
  const Tensor own = values({5, 6}), all = empty(meta(), DType::kI64, {2 * kRanks});
  Work* work = nullptr;
  check(group->all_gather({}, own.view(), all.view(), &work));
  EXPECT_TRUE(work->is_done());
  std::vector<int64_t> expected;
  for (int i = 0; i < kRanks; ++i) expected.insert(expected.end(), {5, 6});
  EXPECT_EQ(read(all), expected);
  const Tensor parts = values({0, 1, 2, 3, 4, 5, 6, 7}), part = empty(meta(), DType::kI64, {1});
  check(group->reduce_scatter({}, ReduceOp::kMax, parts.view(), part.view(), &work));
  EXPECT_EQ(read(part), std::vector<int64_t>{3});
}

// A message larger than this machine's memory: nothing is moved. ThreadSanitizer leaves about half a terabyte of addresses.
TEST_F(MetaGroupTest, CountsWhatRingsWouldSend) {
  constexpr int64_t kBytes = int64_t{1} << 37, kSent = kBytes / kRanks * 2 * (kRanks - 1);
  const OwnedGroup group = make_group("meta");
  const Tensor large = empty(meta(), DType::kF32, {kBytes / 4});
  Work* work = nullptr;
  check(group->all_reduce({}, ReduceOp::kSum, large.view(), large.view(), &work));
  EXPECT_EQ(group->counters().bytes_sent, kSent);
  EXPECT_EQ(group->counters().operations, 1);
  check(group->broadcast({}, 0, large.view(), &work));
  EXPECT_EQ(group->counters().bytes_sent, kSent) << "rank 3 sends nothing";
}

}  // namespace
}  // namespace halftone
