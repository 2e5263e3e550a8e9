// How ranks find each other: what is refused, what is missing, and what is left behind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>

#include "comm/control/process_place.h"
#include "forwarded_store.h"
#include "gloo_ranks.h"
#include "sanitizers.h"

namespace halftone {
namespace {

constexpr int kDone = 0;  // a counter of the board

ptrdiff_t count_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, 0, "", "");
}

void expect_error(const Error& error, Code code, const std::vector<const char*>& texts) {
  EXPECT_EQ(error.code(), code) << error.what();
  for (const char* text : texts) EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
}

TEST(GlooCreation, D10_MissingRanksAreListedAtTheDeadline) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.rank = rank.number * 2;
    options.size = 5;
    options.timeout_ns = kSecond;
    expect_error(error_of([&] { rank.join(options); }), Code::kTimeout, {"ranks 1, 3, 4 did not come", "of 5"});
  });
}

TEST(GlooCreation, D10_ARankThatIsTakenIsRefusedAndTheOthersGoOn) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.size = 2;
    if (rank.number == 2) {
      const char* key = "world/rank/1";
      ASSERT_TRUE(rank.store->wait(&key, 1, 60 * kSecond).ok());
      options.rank = 1;
      expect_error(error_of([&] { rank.join(options); }), Code::kComm, {"rank 1 of the group \"world\" is taken by"});
      ++rank.board.counters[kDone];
      return;
    }
    if (rank.number == 0) {
      EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
    }
    rank.join(options);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

TEST(GlooCreation, D10_RanksWithOtherOptionsNameBoth) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    GroupOptions sizes = rank.options("sizes");
    sizes.size = 2 + rank.number;
    expect_error(error_of([&] { rank.join(sizes); }), Code::kComm,
                 {"rank 0 creates the group \"sizes\" with size 2, rank 1 with 3"});
    GroupOptions times = rank.options("times");
    times.timeout_ns = (30 + rank.number) * kSecond;
    expect_error(error_of([&] { rank.join(times); }), Code::kComm, {"with timeout_ns 3", "rank 0", "rank 1"});
  });
}

// Rank 0 takes the store along when it gives up.
TEST(GlooCreation, D10_TheReasonReachesTheRanksThatMadeNoMistake) {
  const GlooRanks ranks(
      4,
      [](GlooRank& rank) {
        GroupOptions options = rank.options();
        options.size = rank.number == 1 ? 5 : 4;
        const char* keys[] = {"world/rank/0", "world/rank/2", "world/rank/3"};
        if (rank.number == 1) {
          ASSERT_TRUE(rank.store->wait(keys, 3, 60 * kSecond).ok());
        }
        expect_error(error_of([&] { rank.join(options); }), Code::kComm, {"rank 1", "with size", "4", "5"});
      },
      false);
}

// Waits before this rank reads or swaps a value.
class StoreThatWaits final : public ForwardedStore {
 public:
  StoreThatWaits(KeyValueStore& store, std::string key, std::function<void()> wait)
      : ForwardedStore(store), key_(std::move(key)), wait_(std::move(wait)) {}
  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    if (key == key_) wait_();
    return ForwardedStore::get(key, timeout_ns, out, capacity, out_bytes);
  }
  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    if (key == key_) wait_();
    return ForwardedStore::compare_set(key, expected, desired, out_swapped);
  }

 private:
  const std::string key_;
  const std::function<void()> wait_;
};

// Rank 1 has ended before rank 0, which serves the store, gives up; rank 2 looks only then.
TEST(GlooCreation, D10_TheReasonReachesTheLastRankAlsoWhereAnotherHasEnded) {
  constexpr int kProcess = 1, kGivesUp = 2;  // counters of the board
  const GlooRanks ranks(
      3,
      [](GlooRank& rank) {
        auto& counters = rank.board.counters;
        if (rank.number == 1) {
          const char* keys[] = {"world/rank/0", "world/rank/2"};
          ASSERT_TRUE(rank.store->wait(keys, 2, 60 * kSecond).ok());
          counters[kProcess] = getpid();
        }
        StoreThatWaits store(*rank.store, rank.number == 0 ? "world/abort" : "world/rank/1", [&] {
          if (rank.number == 0 && counters[kProcess] > 0) {
            EXPECT_TRUE(wait_until([&] { return has_ended(counters[kProcess]); }));
            ++counters[kGivesUp];
          }
          if (rank.number == 2) {
            EXPECT_TRUE(wait_until([&] { return counters[kGivesUp] > 0; }));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));  // rank 0 would be gone
          }
        });
        GroupOptions options = rank.options();
        options.store = &store;
        options.size = rank.number == 1 ? 5 : 3;
        expect_error(error_of([&] { rank.join(options); }), Code::kComm, {"rank 1", "with size", "3", "5"});
      },
      false);
}

TEST(GlooCreation, D10_NoRankThatCameIsMissingWhenTheStoreEndsWithRank0) {
  const GlooRanks ranks(
      3,
      [](GlooRank& rank) {
        GroupOptions options = rank.options();
        options.size = 4;
        options.timeout_ns = 3 * kSecond / 2;
        expect_error(error_of([&] { rank.join(options); }), Code::kTimeout, {"rank 3 did not come", "of 4"});
      },
      false);
}

constexpr int64_t kLong = 600 * kSecond;  // a test that waits for this deadline has failed
constexpr std::chrono::seconds kBound{60};

// Rank 3 never comes, so that the others wait.
void expect_loss_in_creation(GlooRank& rank, const char* text) {
  GroupOptions options = rank.options();
  options.size = 4;
  options.timeout_ns = kLong;
  const auto start = std::chrono::steady_clock::now();
  expect_error(error_of([&] { rank.join(options); }), Code::kPeerLost, {text});
  EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
}

TEST(GlooCreation, D1_ARankThatIsKilledDuringCreationIsLostLongBeforeTheDeadline) {
  GlooRanks ranks(3, [](GlooRank& rank) { expect_loss_in_creation(rank, "rank 1 is lost: its process ended"); });
  const char* keys[] = {"world/rank/0", "world/rank/1", "world/rank/2"};
  ASSERT_TRUE(ranks.store().wait(keys, 3, 60 * kSecond).ok());
  ranks.kill(1);
}

TEST(GlooCreation, D17_TheRankThatServesTheStoreIsLostDuringCreation) {
  GlooRanks ranks(
      3,
      [](GlooRank& rank) {
        const char* key = "world/server";
        if (rank.number != 0) {
          ASSERT_TRUE(rank.store->wait(&key, 1, 60 * kSecond).ok());
        }
        expect_loss_in_creation(rank, "rank 0 is lost");
      },
      false);
  ASSERT_TRUE(wait_until([&] { return ranks.board().has_address.load(); }));
  const Ref<Context> context = make_gloo_context();
  const OwnedStore store = create_store("tcp", *context, tcp_options(ranks.board().address, false));
  const char* keys[] = {"world/rank/1", "world/rank/2"};
  ASSERT_TRUE(store->wait(keys, 2, 60 * kSecond).ok());
  ranks.kill(0);
}

// The entry of a rank of a later version.
TEST(GlooCreation, D14_AnotherVersionIsUnsupported) {
  const GlooRanks ranks(1, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.size = 2;
    const std::string entry = "version 1000 and what it may hold";
    ASSERT_TRUE(rank.store->set("world/rank/1", {.data = entry.data(), .bytes = entry.size()}).ok());
    expect_error(error_of([&] { rank.join(options); }), Code::kUnsupported, {"rank 1 speaks version 1000"});
  });
}

TEST(GlooCreation, D18_ARestartedRankIsToldThatTheGroupWasFormed) {
  GlooRanks ranks(3, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.size = 2;
    if (rank.number == 2) {  // what rank 1 would be after a restart
      EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
      options.rank = 1;
      expect_error(error_of([&] { rank.join(options); }), Code::kState,
                   {"was formed before", "form a group with another name"});
      return;
    }
    rank.join(options);
    if (rank.number == 1) pause();
    EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
    ++rank.board.counters[kDone];
  });
  const char* key = "world/formed";
  ASSERT_TRUE(ranks.store().wait(&key, 1, 60 * kSecond).ok());
  ranks.kill(1);
}

TEST(GlooCreation, D19_TooFewDescriptorsForTheGroupAreToldWithAdvice) {
  const GlooRanks ranks(1, [](GlooRank& rank) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 32;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    GroupOptions options = rank.options();
    options.size = 64;
    const ptrdiff_t before = count_entries("/proc/self/fd");
    const Error error = error_of([&] { rank.join(options); });
    expect_error(error, Code::kIo, {"the limit is 32", "ulimit -n", "to 80"});
    EXPECT_EQ(error.native_code(), EMFILE);
    EXPECT_EQ(count_entries("/proc/self/fd"), before);
  });
}

// The embedding program has taken what the limit allows.
TEST(GlooCreation, D19_NoDescriptorLeftIsToldWithAdviceAndNoneLeaks) {
  if (kAddressSanitizer) GTEST_SKIP() << "UndefinedBehaviorSanitizer opens files of its own";
  const GlooRanks ranks(2, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.timeout_ns = 1500 * kMillisecond;
    if (rank.number == 1) {
      const char* key = "world/rank/0";
      ASSERT_TRUE(rank.store->wait(&key, 1, 60 * kSecond).ok());
      EXPECT_NE(error_of([&] { rank.join(options); }).code(), Code::kOk);
      return;
    }
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    std::vector<int> taken;
    for (int file = open("/dev/null", O_RDONLY); file >= 0; file = open("/dev/null", O_RDONLY)) taken.push_back(file);
    close(taken.back());
    taken.pop_back();
    const Error error = error_of([&] { rank.join(options); });
    for (const int file : taken) close(file);
    expect_error(error, Code::kIo, {"none is left", "ulimit -n"});
    const ptrdiff_t before = count_entries("/proc/self/fd");
    EXPECT_LT(before, 20);
  });
}

TEST(GlooCreation, GroupsLeaveNoDescriptorsAndNoThreads) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    const auto form = [&](int number) {
      rank.join(rank.options(("group " + std::to_string(number)).c_str()));
      EXPECT_TRUE(barrier_of(*rank.group).ok());
      rank.group.reset();
    };
    form(0);  // may load what stays loaded, and opens the connections that the store keeps
    const ptrdiff_t files = count_entries("/proc/self/fd");
    const ptrdiff_t threads = count_entries("/proc/self/task");
    for (int number = 1; number < 6; ++number) form(number);
    EXPECT_LE(count_entries("/proc/self/fd"), files + 3) << "the store keeps at most four connections";
    EXPECT_EQ(count_entries("/proc/self/task"), threads);
  });
}

// Without a port that listens, no stranger reaches a group.
TEST(GlooCreation, D13_NoPortListensWhenTheGroupIsFormed) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    int sockets = 0;
    for (int file = 0; file < 256; ++file) {
      int listens = 0;
      socklen_t size = sizeof listens;
      if (getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) continue;
      ++sockets;
      EXPECT_EQ(listens, 0);
    }
    EXPECT_GE(sockets, 3) << "two ranks and the store";
    EXPECT_TRUE(barrier_of(*rank.group).ok()) << "no rank left before";
  });
}

TEST(GlooCreation, TheInterfaceMayBeNamed) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    GroupOptions options = rank.options("by name");
    options.interface = "lo";
    rank.join(options);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    options.name = "by default";
    options.interface = nullptr;
    rank.join(options);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

TEST(GlooCreation, AnInterfaceThatIsNotThereIsNamed) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.timeout_ns = kSecond;
    options.interface = "no such interface";
    expect_error(error_of([&] { rank.join(options); }), Code::kIo, {"\"no such interface\" is no interface"});
  });
}

TEST(GlooCreation, AGroupNeedsAStore) {
  const Ref<Context> context = make_gloo_context();
  const GroupOptions options{.device = context->device("cpu").device, .size = 2};
  expect_error(error_of([&] { create_group("gloo", *context, options); }), Code::kInvalidArgument, {"needs a store"});
}

}  // namespace
}  // namespace halftone
