// Ranks as processes that find each other through the store "tcp" and form groups of the kind "gloo". The test's own
// process forks them before it starts a thread, and then serves the store.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <string>
#include <vector>

#include "processes.h"
#include "ranks.h"

namespace halftone {

// In memory that all processes of a test share. Zero at first.
struct Board {
  std::atomic<int> counters[16];
  std::atomic<bool> has_address;
  char address[64];  // of the store
};

// A shared page for the processes of one test.
class SharedBoard {
 public:
  SharedBoard()
      : board_(static_cast<Board*>(
            mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  Board* operator->() const { return board_; }
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

inline constexpr int64_t kSecond = 1000 * kMillisecond;
inline constexpr char kSecret[] = "a secret of the tests";

// Waits until a value is there, for a minute at most.
inline bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline Ref<Context> make_gloo_context() {
  Ref<Context> context = make_rank_context();
  context->load_plugin(GLOO_PLUGIN);
  return context;
}

inline StoreOptions tcp_options(const char* address, bool is_server, int64_t timeout_ns = 20 * kSecond) {
  return {.address = address,
          .is_server = is_server ? 1 : 0,
          .secret = {.data = kSecret, .bytes = sizeof kSecret - 1},
          .timeout_ns = timeout_ns};
}

// Serves the store on a free port of the loopback, and puts its address on the board.
inline OwnedStore serve_store(const Context& context, Board& board) {
  OwnedStore store = create_store("tcp", context, tcp_options("127.0.0.1:0", true));
  size_t bytes = 0;
  check(store->get("store/address", 0, board.address, sizeof board.address, &bytes));
  board.has_address = true;
  return store;
}

// One rank's side of a test: everything that it needs to form groups.
struct GlooRank {
  Board& board;
  int number;
  int size;
  Ref<Context> context = make_gloo_context();
  OwnedStore store = nullptr;
  OwnedGroup group = nullptr;

  void connect() {
    EXPECT_TRUE(wait_until([&] { return board.has_address.load(); }));
    store = create_store("tcp", *context, tcp_options(board.address, false));
  }
  GroupOptions options(const char* name = "world") {
    return {.device = context->device("cpu").device,
            .store = store.get(),
            .name = name,
            .rank = number,
            .size = size,
            .timeout_ns = 30 * kSecond,
            .interface = "127.0.0.1"};
  }
  void join(const GroupOptions& options) { group = create_group("gloo", *context, options); }
};

// Forks the ranks. Each connects to the store, which this process serves meanwhile, and runs body(rank). The destructor
// expects that all have ended well, but for those that expect_killed() names.
class GlooRanks {
 public:
  GlooRanks(int size, const std::function<void(GlooRank& rank)>& body, bool serves = true) {
    for (int number = 0; number < size; ++number) {
      children_.emplace_back([&] {
        GlooRank rank{.board = *board_, .number = number, .size = size};
        if (serves || number != 0) {
          rank.connect();
        } else {
          rank.store = serve_store(*rank.context, rank.board);
        }
        body(rank);
        rank.group.reset();
        rank.store.reset();
      });
    }
    expected_.assign(static_cast<size_t>(size), 0);
    if (!serves) return;
    context_ = make_gloo_context();
    store_ = serve_store(*context_, *board_);
  }
  ~GlooRanks() {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      EXPECT_EQ(children_[rank].wait(), expected_[rank]) << "rank " << rank;
    }
  }
  GlooRanks(const GlooRanks&) = delete;
  GlooRanks& operator=(const GlooRanks&) = delete;

  Board& board() { return *board_; }
  KeyValueStore& store() { return *store_; }
  const Context& context() { return *context_; }
  const ChildProcess& process(int rank) { return children_[static_cast<size_t>(rank)]; }
  bool wait_for(int counter, int value) {
    return wait_until([&] { return board_->counters[counter] >= value; });
  }
  void kill(int rank) {
    expected_[static_cast<size_t>(rank)] = -SIGKILL;
    process(rank).send_signal(SIGKILL);
  }

 private:
  SharedBoard board_;
  Ref<Context> context_;
  OwnedStore store_;
  std::vector<ChildProcess> children_;
  std::vector<int> expected_;
};

inline View view_of(std::vector<float>& values) {
  return {.data = values.data(), .dtype = DType::kF32, .shape = {static_cast<int64_t>(values.size())}, .strides = {1}};
}

inline Status all_reduce(ProcessGroup& group, std::vector<float>& values, ReduceOp op = ReduceOp::kSum) {
  return result_of([&](Work** work) { return group.all_reduce({}, op, view_of(values), view_of(values), work); });
}

}  // namespace halftone
