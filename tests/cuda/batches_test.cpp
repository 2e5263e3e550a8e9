// Batches of data in the CPU's memory, sent to a CUDA device one batch ahead.
#include "data/batches.h"

#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone::data {
namespace {

class BatchesOnCuda : public RoomTest {
 protected:
  ContextDevice& cuda() { return cuda_device(context()); }
  static SamplerOptions options() { return {.count = 7, .batch_size = 2, .seed = 5, .drop_last = false}; }
  Tensor rows() {
    std::vector<double> numbers(7 * 300);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
    return tensor({7, 300}, numbers);
  }
  Ref<Batches> batches() { return make_ref<Batches>(make_ref<Sampler>(options()), std::vector<Tensor>{rows()}); }
};

TEST_F(BatchesOnCuda, AreThoseOfTheCpuInEveryEpoch) {
  const Ref<Batches> here = batches();
  const Ref<Batches> there = batches();
  there->send_to(cuda());
  for (int i = 0; i < 10; ++i) {
    here->next();
    there->next();
    EXPECT_EQ(&there->get(0).device(), &cuda());
    EXPECT_EQ(values(there->get(0)), values(here->get(0))) << "batch " << i;
  }
}

TEST_F(BatchesOnCuda, ComeAheadWithoutAWait) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime counts transfers and waits";
  const Ref<Batches> there = batches();
  there->send_to(cuda());
  there->next();
  const auto queued = [] { return emulation_function<int64_t()>("cuda_emulation_queued")(); };
  const int64_t waits = cuda_waits();
  for (int i = 0; i < 4; ++i) {
    const int64_t before = queued();
    there->next();
    EXPECT_EQ(queued(), before + 1) << "one transfer, that of the batch after this one";
  }
  EXPECT_EQ(cuda_waits(), waits);
}

// Work of the device's stream that is queued before and after the transfer uses the same memory.
TEST_F(BatchesOnCuda, AreOrderedWithTheWorkOfTheDevice) {
  for (const bool others_first : {false, true}) {
    if (is_emulated()) emulation_function<void(int32_t)>("cuda_emulation_run_others_first")(others_first ? 1 : 0);
    const Ref<Batches> here = batches();
    const Ref<Batches> there = batches();
    there->send_to(cuda());
    std::vector<Tensor> sums;
    std::vector<double> expected;
    for (int i = 0; i < 8; ++i) {
      here->next();
      there->next();
      sums.push_back(converted(there->get(0), DType::kF64));
      expected.push_back(values(here->get(0))[1]);
    }
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(values(sums[i])[1], expected[i]);
  }
  if (is_emulated()) emulation_function<void(int32_t)>("cuda_emulation_run_others_first")(0);
}

// A load of a checkpoint moves the sampler between two batches.
TEST_F(BatchesOnCuda, FollowASamplerThatIsMoved) {
  const Ref<Sampler> sampler = make_ref<Sampler>(options());
  const Ref<Batches> there = make_ref<Batches>(sampler, std::vector<Tensor>{rows()});
  there->send_to(cuda());
  there->next();
  const std::vector<double> first = values(there->get(0));
  EXPECT_EQ(sampler->cursor(), 1);
  there->next();
  sampler->set_cursor(0);
  there->next();
  EXPECT_EQ(values(there->get(0)), first);
  EXPECT_EQ(sampler->cursor(), 1);
}

TEST_F(BatchesOnCuda, MayBeSentToTheCpuToo) {
  const Ref<Batches> here = batches();
  here->send_to(cuda());
  here->send_to(device());
  here->next();
  EXPECT_EQ(&here->get(0).device(), &device());
}

}  // namespace
}  // namespace halftone::data
