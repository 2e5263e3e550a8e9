// Groups over slow and faulty networks: late bytes give correct results, damaged ones an error where messages are
// checked, and a connection that stalls or ends is an error on all ranks.
#include <numeric>

#include "gloo_ranks.h"
#include "proxied_store.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr int kFormed = 0;          // a counter of the board
constexpr int64_t kLarge = 20'000;  // elements, whose bytes do not fit into the head of a message
constexpr int64_t kSmall = 64;

// A rank whose connections go through proxies.
struct ProxiedRank {
  ProxiedRank(GlooRank& of, const Link& link) : rank(of), store(*of.store, of.number, of.size, link) {}
  ~ProxiedRank() { rank.group.reset(); }
  ProxiedRank(const ProxiedRank&) = delete;
  ProxiedRank& operator=(const ProxiedRank&) = delete;

  void join(int32_t checks_data = 0, int64_t timeout_ns = 30 * kSecond) {
    const std::string interface = "127.0.0." + std::to_string(rank.number + 1);
    GroupOptions options = rank.options();
    options.store = &store;
    options.interface = interface.c_str();
    options.checks_data = checks_data;
    options.timeout_ns = timeout_ns;
    rank.join(options);
    ASSERT_EQ(store.proxies().size(), static_cast<size_t>(rank.number));
  }
  int64_t forwarded_bytes() const {
    int64_t bytes = 0;
    for (const auto& proxy : store.proxies()) bytes += proxy->forwarded_bytes();
    return bytes;
  }

  GlooRank& rank;
  ProxiedStore store;
};

// Sums of whole numbers, which are exact.
void expect_right_sum(GlooRank& rank) {
  std::vector<float> values(kLarge), expected(kLarge);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 1000) + static_cast<float>(rank.number);
    expected[i] = 3 * static_cast<float>(i % 1000) + 3;
  }
  const Status status = all_reduce(*rank.group, values);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(values, expected);
}

void expect_right_parts(GlooRank& rank) {
  std::vector<float> own(kLarge, static_cast<float>(rank.number + 1)), all(kRanks * kLarge);
  const Status status = result_of([&](Work** w) { return rank.group->all_gather({}, view_of(own), view_of(all), w); });
  ASSERT_TRUE(status.ok()) << status.message;
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<float>(i / kLarge + 1)) << i;
}

// The least time that an operation takes over the link, which shows that it went over the link.
void expect_right_over(const Link& link, std::chrono::milliseconds least) {
  const GlooRanks ranks(kRanks, [&](GlooRank& rank) {
    ProxiedRank proxied(rank, link);
    proxied.join();
    const auto start = Clock::now();
    expect_right_sum(rank);
    EXPECT_GE(Clock::now() - start, least);
    expect_right_parts(rank);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    // As many elements there and back to each lower rank, at least once.
    EXPECT_GE(proxied.forwarded_bytes(), rank.number * kLarge * 4);
  });
}

TEST(GlooNetwork, D5_ADelayMakesOperationsLateAndNotWrong) {
  expect_right_over({.delay = std::chrono::milliseconds(200)}, std::chrono::milliseconds(200));
}

TEST(GlooNetwork, D5_AThrottledConnectionMakesOperationsSlowAndNotWrong) {
  expect_right_over({.bytes_per_second = 1'000'000}, std::chrono::milliseconds(kLarge * 4 / kRanks / 1000));
}

TEST(GlooNetwork, D5_SegmentsOfOneByteArriveAsTheMessagesThatTheyWere) {
  expect_right_over({.segment_bytes = 1}, std::chrono::milliseconds(0));
}

// The bytes of a few elements that are all 1.5.
std::string pattern() {
  const std::vector<float> values(8, 1.5f);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Rank 0's data pass the proxy of rank 1, which changes a bit.
Status broadcast_damaged(ProxiedRank& proxied, std::vector<float>& values) {
  ProcessGroup& group = *proxied.rank.group;
  check(barrier_of(group));
  if (proxied.rank.number == 1) proxied.store.proxies()[0]->damage(pattern());
  check(barrier_of(group));
  return result_of([&](Work** work) { return group.broadcast({}, 0, view_of(values), work); });
}

TEST(GlooNetwork, D6_ADamagedMessageIsAnErrorThatNamesItsRanksWhereDataAreChecked) {
  for (const int64_t size : {kSmall, kLarge}) {
    const GlooRanks ranks(kRanks, [&](GlooRank& rank) {
      ProxiedRank proxied(rank, {});
      proxied.join(1);
      std::vector<float> values(static_cast<size_t>(size), rank.number == 0 ? 1.5f : 0.0f);
      Status status = broadcast_damaged(proxied, values);
      // Ranks that have all of a broadcast need not wait for the others.
      if (rank.number != 1 && status.ok()) status = barrier_of(*rank.group);
      EXPECT_EQ(status.code, Code::kComm) << status.message;
      EXPECT_TRUE(says(status, "from rank 0 to rank 1 was changed in transit")) << status.message;
    });
  }
}

// As docs/many-processes.md tells.
TEST(GlooNetwork, D6_WithoutTheCheckADamagedValueArrivesUnnoticed) {
  const GlooRanks ranks(kRanks, [&](GlooRank& rank) {
    ProxiedRank proxied(rank, {});
    proxied.join(0);
    std::vector<float> values(kSmall, rank.number == 0 ? 1.5f : 0.0f);
    const Status status = broadcast_damaged(proxied, values);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(std::count(values.begin(), values.end(), 1.5f), kSmall - (rank.number == 1 ? 1 : 0));
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

// Between ranks 1 and 0 alone; the third rank learns of it.
void expect_failure_of_one_connection(const std::function<void(TcpProxy& proxy)>& fault, int64_t timeout_ns, Code code,
                                      const std::vector<const char*>& texts) {
  const GlooRanks ranks(kRanks, [&](GlooRank& rank) {
    ProxiedRank proxied(rank, {});
    proxied.join(0, timeout_ns);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    ++rank.board.counters[kFormed];
    EXPECT_TRUE(wait_until([&] { return rank.board.counters[kFormed] == kRanks; }));
    if (rank.number == 1) fault(*proxied.store.proxies()[0]);
    const auto start = Clock::now();
    Status status;
    while (status.ok()) {
      std::vector<float> values(kLarge, 1);
      status = all_reduce(*rank.group, values);
    }
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(status.code, code) << status.message;
    const auto is_said = [&](const char* text) { return says(status, text); };
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), is_said)) << status.message;
  });
}

TEST(GlooNetwork, D3_AConnectionThatStallsIsATimeoutThatNamesItsRanks) {
  expect_failure_of_one_connection([](TcpProxy& proxy) { proxy.stall(); }, 4000 * kMillisecond, Code::kTimeout,
                                   {"rank 0 waited for rank 1", "rank 1 waited for rank 0", "rank 2 waited for rank"});
}

TEST(GlooNetwork, D1_AConnectionThatIsCutLosesOneOfItsRanks) {
  expect_failure_of_one_connection([](TcpProxy& proxy) { proxy.cut(); }, 60 * kSecond, Code::kPeerLost,
                                   {"rank 0 is lost", "rank 1 is lost"});
}

}  // namespace
}  // namespace halftone
