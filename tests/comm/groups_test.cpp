// Groups by name: the built-in ones, those of a plugin, and many in one process.
#include "comm/group/groups.h"

#include "host_tensor.h"
#include "ranks.h"

namespace halftone {
namespace {

Code code_of_creating(const char* kind, const GroupOptions& options, const char* argument) {
  const Ref<Context> context = make_rank_context();
  GroupOptions complete = options;
  complete.device = context->device("cpu").device;
  try {
    create_group(kind, *context, complete);
  } catch (const Error& error) {
    EXPECT_STREQ(error.argument(), argument) << error.what();
    return error.code();
  }
  return Code::kOk;
}

TEST(Groups, OptionsAreChecked) {
  const OwnedStore store = create_memory_store();
  EXPECT_EQ(code_of_creating("single", {.size = 0}, "size"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("single", {.rank = 1}, "rank"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("single", {.rank = -1}, "rank"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("single", {.timeout_ns = 0}, "timeout_ns"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("single", {.name = nullptr}, "name"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("single", {.size = 2}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("threads", {.size = 2}, ""), Code::kInvalidArgument) << "it has no store";
  EXPECT_EQ(code_of_creating("threads", {.store = store.get(), .size = 1000}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code_of_creating("threads", {.store = store.get(), .size = 2}, ""), Code::kOk);
}

TEST(Groups, AKindThatIsNotThereNamesThePluginThatHasIt) {
  const Ref<Context> context = make_rank_context();
  const GroupOptions options{.device = context->device("cpu").device};
  for (const auto& [kind, text] : {std::pair{"gloo", "libhalftone_gloo.so"},
                                   {"nccl", "libhalftone_nccl.so"},
                                   {"pigeons", "no group of the kind \"pigeons\""}}) {
    try {
      create_group(kind, *context, options);
      ADD_FAILURE() << kind;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnsupported);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

TEST(SingleGroup, CopiesAndIsDoneAtOnce) {
  const Ref<Context> context = make_rank_context();
  const OwnedGroup group = create_group("single", *context, {.device = context->device("cpu").device});
  EXPECT_STREQ(group->kind(), "single");
  EXPECT_EQ(group->rank(), 0);
  EXPECT_EQ(group->size(), 1);
  HostTensor in(DType::kBF16, {5});
  in.fill_uniform(-1, 1, 3);
  const auto expect_copy = [&](const char* what, const auto& start) {
    const HostTensor out(DType::kBF16, {5});
    Work* work = nullptr;
    ASSERT_TRUE(start(out.view(), &work).ok()) << what;
    EXPECT_TRUE(work->is_done()) << what;
    EXPECT_TRUE(work->wait().ok()) << what;
    work->destroy();
    EXPECT_TRUE(in.bytes() == out.bytes()) << what;
  };
  const CallOptions options{.stream = &context->device("cpu").device->stream()};
  expect_copy("all_reduce", [&](const View& out, Work** w) {
    return group->all_reduce(options, ReduceOp::kAverage, in.view(), out, w);
  });
  expect_copy("all_gather", [&](const View& out, Work** w) { return group->all_gather(options, in.view(), out, w); });
  expect_copy("reduce_scatter", [&](const View& out, Work** w) {
    return group->reduce_scatter(options, ReduceOp::kSum, in.view(), out, w);
  });
  expect_copy("all_to_all", [&](const View& out, Work** w) { return group->all_to_all(options, in.view(), out, w); });
  EXPECT_TRUE(result_of([&](Work** w) { return group->broadcast({}, 0, in.view(), w); }).ok());
  EXPECT_EQ(result_of([&](Work** w) { return group->broadcast({}, 1, in.view(), w); }).code, Code::kInvalidArgument);
  EXPECT_TRUE(barrier_of(*group).ok());
  group->abort("enough");
  EXPECT_EQ(barrier_of(*group).code, Code::kPeerLost);
}

TEST(ThreadsGroup, ManyGroupsOfOneStoreDoNotMix) {
  constexpr int kRanks = 3;
  const std::vector<std::string> names = {"world", "data", "tensor", "pipeline"};
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < kRanks; ++number) {
    threads.emplace_back([&, number] {
      std::vector<Rank> ranks;
      for (const std::string& name : names) {
        ranks.push_back(make_rank(store.get(), number, kRanks, kDefaultGroupTimeoutNs, name.c_str()));
      }
      std::vector<HostTensor> sums(names.size(), HostTensor(DType::kF64, {1}));
      std::vector<OwnedWork> works(names.size());
      // Each rank starts with another group, which would hang, or mix the sums, if the groups knew one another.
      for (size_t i = 0; i < names.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(number)) % names.size();
        sums[which].set(0, static_cast<double>(which * 100) + number);
        Work* work = nullptr;
        const View view = sums[which].view();
        ASSERT_TRUE(ranks[which].group->all_reduce({}, ReduceOp::kSum, view, view, &work).ok());
        works[which].reset(work);
      }
      for (size_t which = 0; which < names.size(); ++which) {
        EXPECT_TRUE(works[which]->wait().ok());
        EXPECT_EQ(sums[which].get(0), static_cast<double>(which * 300 + 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace halftone
