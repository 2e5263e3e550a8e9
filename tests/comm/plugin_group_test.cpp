// A group that a plugin serves.
#include "host_tensor.h"
#include "ranks.h"

namespace halftone {
namespace {

class PluginGroupTest : public testing::Test {
 protected:
  PluginGroupTest() { context_->load_plugin(FAKE_PLUGIN); }
  OwnedGroup create(int size) {
    return create_group("fake", *context_, {.device = context_->device("fake").device, .size = size});
  }

  Ref<Context> context_ = make_rank_context();
};

TEST_F(PluginGroupTest, IsServedByName) {
  const OwnedGroup group = create(1);
  EXPECT_STREQ(group->kind(), "fake");
  HostTensor in(DType::kF32, {3});
  in.fill_uniform(-1, 1, 5);
  const HostTensor out(DType::kF32, {3});
  Work* started = nullptr;
  ASSERT_TRUE(group->all_reduce({}, ReduceOp::kSum, in.view(), out.view(), &started).ok());
  const OwnedWork work(started);
  EXPECT_FALSE(work->is_done());
  EXPECT_TRUE(work->wait().ok());
  EXPECT_TRUE(in.bytes() == out.bytes());
}

TEST_F(PluginGroupTest, GivesItsOwnReasonForAGroupThatItCannotMake) {
  try {
    create(2);
    FAIL() << "it has one rank";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("the fake group has one rank, not 2"), std::string::npos) << error.what();
  }
}

TEST_F(PluginGroupTest, IsKnownToTheContextThatLoadedThePluginAlone) {
  const Ref<Context> other = make_rank_context();
  try {
    create_group("fake", *other, {.device = other->device("cpu").device});
    FAIL() << "the other context has no plugin";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
  }
}

// Threads cannot read the fake device's memory.
TEST_F(PluginGroupTest, GroupsOfThreadsRefuseADeviceWhoseMemoryTheyCannotRead) {
  const OwnedStore store = create_memory_store();
  for (const char* kind : {"single", "threads", "shared_memory"}) {
    try {
      create_group(kind, *context_, {.device = context_->device("fake").device, .store = store.get()});
      ADD_FAILURE() << kind;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnsupported);
      EXPECT_NE(std::string(error.what()).find("fake:0"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace halftone
