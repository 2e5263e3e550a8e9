// NCCL among threads of one process, on the emulated CUDA runtime: operations are work of the emulated streams, which
// wait for each other. Calls that do not block are under way (ncclInProgress) for a few questions, as NCCL's are while
// it connects ranks. Operations that do not fit each other never end, as on GPUs. What NCCL forbids ends the program or
// returns its error. Switches at the end let it hang, fail and lose ranks.
#include <nccl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_sums.h"

namespace emulation {
namespace {

constexpr int kQuestions = 3;  // until a call that is under way has ended

std::atomic<int> version{22005};
std::atomic<bool> hangs{false};
std::atomic<int> lost_rank{-1};
std::atomic<int64_t> under_way{0};  // times that it returned ncclInProgress

[[noreturn]] void end_program(const char* reason) {
  std::fprintf(stderr, "NCCL emulation: %s\n", reason);
  std::abort();
}

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

// One rank's part of a collective.
struct Call {
  Kind kind{};
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  ncclDataType_t dtype{};
  int argument = 0;  // the reduction or the root

  bool fits(const Call& other) const {
    return kind == other.kind && count == other.count && dtype == other.dtype && argument == other.argument;
  }
};

struct Message {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
  bool is_done = false;
};

struct Collective {
  std::map<int, Call> calls;  // by rank
  bool is_done = false;
};

}  // namespace

// The part of a communicator that its ranks share.
struct NcclClique {
  std::mutex mutex;  // guards the members below
  int size = 0;
  std::vector<int> devices;  // by rank; -1: has not come
  int joined = 0;
  int finalized = 0;
  std::map<int64_t, Collective> collectives;  // by number
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> sends, receives;
  std::vector<NcclRank*> ranks;
};

class NcclRank {
 public:
  std::shared_ptr<NcclClique> clique;
  int rank = 0;
  int device = 0;
  int questions = 0;  // left until the call under way ends
  bool is_finalizing = false;
  bool has_operated = false;
  std::function<void()> pending;  // queues the operation that is under way
  std::shared_ptr<std::atomic<bool>> is_aborted = std::make_shared<std::atomic<bool>>(false);
  std::atomic<ncclResult_t> async{ncclSuccess};
  std::atomic<bool> is_in_call{false};
  int64_t number = 0;  // of collectives
};

namespace {

std::mutex cliques_mutex;
std::map<std::string, std::weak_ptr<NcclClique>> cliques;

// NCCL's communicators belong to one thread at a time.
class OneThread {
 public:
  explicit OneThread(NcclRank& rank) : rank_(rank) {
    if (rank_.is_in_call.exchange(true)) end_program("two threads use a communicator");
  }
  ~OneThread() { rank_.is_in_call = false; }

 private:
  NcclRank& rank_;
};

size_t size_of_type(ncclDataType_t dtype) {
  switch (dtype) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclFloat64:
      return 8;
  }
  return 0;
}

// All ranks have come: moves the data of all. Results go through a copy, since operands may be in place.
void run_collective(Collective& collective) {
  const Call& first = collective.calls.at(0);
  const size_t size = collective.calls.size(), bytes = first.count * size_of_type(first.dtype);
  std::vector<const void*> inputs;
  for (const auto& [rank, call] : collective.calls) inputs.push_back(call.in);
  std::vector<std::byte> result(first.kind == Kind::kAllGather || first.kind == Kind::kReduceScatter ? bytes * size
                                                                                                     : bytes);
  const size_t reduced = first.kind == Kind::kReduceScatter ? first.count * size : first.count;
  switch (first.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter:
      reduce_in_turn(inputs, reduced, first.dtype, static_cast<ncclRedOp_t>(first.argument), result.data());
      break;
    case Kind::kAllGather:
      for (size_t rank = 0; rank < size; ++rank) std::memcpy(result.data() + rank * bytes, inputs[rank], bytes);
      break;
    case Kind::kBroadcast:
      std::memcpy(result.data(), inputs[static_cast<size_t>(first.argument)], bytes);
      break;
  }
  for (const auto& [rank, call] : collective.calls) {
    const bool is_part = first.kind == Kind::kReduceScatter;
    const size_t begin = is_part ? static_cast<size_t>(rank) * bytes : 0;
    std::memcpy(call.out, result.data() + begin, is_part ? bytes : result.size());
  }
}

// One try of a rank's part of a collective, on its stream.
bool try_collective(NcclClique& clique, int rank, int64_t number, const Call& call,
                    const std::atomic<bool>& is_aborted) {
  const std::lock_guard lock(clique.mutex);
  if (is_aborted) return true;
  if (hangs || lost_rank == rank) return false;
  Collective& collective = clique.collectives[number];
  collective.calls[rank] = call;
  if (!collective.is_done && collective.calls.size() == static_cast<size_t>(clique.size)) {
    for (const auto& [other, theirs] : collective.calls) {
      if (!theirs.fits(call)) return false;
    }
    run_collective(collective);
    collective.is_done = true;
  }
  return collective.is_done;
}

// The operations of a group on one thread.
struct Entry {
  NcclRank* rank;
  cudaStream_t stream;
  bool sends;
  int peer;
  std::shared_ptr<Message> message;
};
thread_local int group_depth = 0;
thread_local std::vector<Entry> group_entries;

struct Exchange {
  std::shared_ptr<NcclClique> clique;
  int rank = 0;
  std::vector<Entry> entries;
  bool is_posted = false;
};

void post(Exchange& exchange) {
  for (const Entry& entry : exchange.entries) {
    auto& mailbox = entry.sends ? exchange.clique->sends[{exchange.rank, entry.peer}]
                                : exchange.clique->receives[{entry.peer, exchange.rank}];
    mailbox.push_back(entry.message);
  }
  exchange.is_posted = true;
}

// A pair of different sizes never ends.
void deliver(NcclClique& clique) {
  for (auto& [pair, sends] : clique.sends) {
    auto& receives = clique.receives[pair];
    while (!sends.empty() && !receives.empty() && sends.front()->bytes == receives.front()->bytes) {
      std::memcpy(receives.front()->to, sends.front()->from, sends.front()->bytes);
      sends.front()->is_done = receives.front()->is_done = true;
      sends.pop_front();
      receives.pop_front();
    }
  }
}

bool try_exchange(Exchange& exchange, const std::atomic<bool>& is_aborted) {
  const std::lock_guard lock(exchange.clique->mutex);
  if (is_aborted) return true;
  if (hangs || lost_rank == exchange.rank) return false;
  if (!exchange.is_posted) post(exchange);
  deliver(*exchange.clique);
  for (const Entry& entry : exchange.entries) {
    if (!entry.message->is_done) return false;
  }
  return true;
}

// The first operation of a communicator connects the ranks: it is on the stream only when it is not under way any more.
ncclResult_t start(NcclRank& rank, cudaStream_t stream, std::function<bool()> attempt) {
  if (rank.questions > 0 || rank.pending) end_program("a call while another one is in progress");
  if (rank.async != ncclSuccess) return rank.async;
  auto queue = [stream, run = std::move(attempt)] { enqueue_attempt(stream, run); };
  if (rank.has_operated) {
    queue();
    return ncclSuccess;
  }
  rank.has_operated = true;
  rank.questions = kQuestions;
  rank.pending = std::move(queue);
  return ncclInProgress;
}

ncclResult_t start_collective(NcclRank* rank, cudaStream_t stream, const Call& call) {
  if (rank == nullptr || (call.count > 0 && (call.in == nullptr || call.out == nullptr))) return ncclInvalidArgument;
  const OneThread one(*rank);
  int current = -1;
  cudaGetDevice(&current);
  if (current != rank->device) return ncclInvalidUsage;
  if (group_depth > 0) end_program("the emulation knows no collectives in groups");
  if (call.count == 0) return ncclSuccess;
  const auto clique = rank->clique;
  return start(*rank, stream, [clique, number = rank->number++, own = rank->rank, call, end = rank->is_aborted] {
    return try_collective(*clique, own, number, call, *end);
  });
}

ncclResult_t add_message(NcclRank* rank, cudaStream_t stream, bool sends, int peer, const void* from, void* to,
                         size_t bytes) {
  if (rank == nullptr || peer < 0 || peer >= rank->clique->size) return ncclInvalidArgument;
  ncclGroupStart();
  group_entries.push_back({rank, stream, sends, peer, std::make_shared<Message>(Message{from, to, bytes, false})});
  return ncclGroupEnd();
}

}  // namespace
}  // namespace emulation

using namespace emulation;

ncclResult_t ncclGetVersion(int* out) {
  *out = version;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> count{0};
  std::memset(id->internal, 0, sizeof id->internal);
  std::snprintf(id->internal, sizeof id->internal, "clique %d", ++count);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* out, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0) end_program("the emulation knows no blocking calls");
  std::shared_ptr<NcclClique> clique;
  {
    const std::lock_guard lock(cliques_mutex);
    clique = cliques[id.internal].lock();
    if (!clique) {
      clique = std::make_shared<NcclClique>();
      clique->size = size;
      clique->devices.assign(static_cast<size_t>(size), -1);
      cliques[id.internal] = clique;
    }
  }
  auto* made = new NcclRank;
  made->clique = clique;
  made->rank = rank;
  cudaGetDevice(&made->device);
  const std::lock_guard lock(clique->mutex);
  clique->ranks.push_back(made);
  for (const int device : clique->devices) {
    if (device != made->device) continue;
    for (NcclRank* each : clique->ranks) each->async = ncclInvalidUsage;  // two ranks on one GPU
  }
  clique->devices[static_cast<size_t>(rank)] = made->device;
  ++clique->joined;
  made->questions = kQuestions;
  *out = made;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const OneThread one(*comm);
  std::unique_lock lock(comm->clique->mutex);
  const int lost = lost_rank;
  if (lost >= 0 && lost < comm->clique->size && comm->rank != lost && comm->has_operated) comm->async = ncclRemoteError;
  const bool waits = comm->clique->joined < comm->clique->size ||
                     (comm->is_finalizing && comm->clique->finalized < comm->clique->size);
  if (comm->async == ncclSuccess && (waits || comm->questions > 0)) {
    if (comm->questions > 0) --comm->questions;
    if (comm->questions > 0 || waits) {
      ++under_way;
      *state = ncclInProgress;
      return ncclSuccess;
    }
  }
  *state = comm->async;
  lock.unlock();  // the streams have a lock of their own, which comes first
  if (comm->pending) std::exchange(comm->pending, nullptr)();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const OneThread one(*comm);
  const std::lock_guard lock(comm->clique->mutex);
  comm->is_finalizing = true;
  ++comm->clique->finalized;
  return ncclInProgress;
}

namespace {

void forget(ncclComm_t comm) {
  const auto clique = comm->clique;
  const std::lock_guard lock(clique->mutex);
  std::erase(clique->ranks, comm);
  delete comm;
}

}  // namespace

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->is_finalizing) end_program("destroyed without being finalized");
  forget(comm);
  return ncclSuccess;
}

// Waits for what the rank's stream tries just now; afterwards its memory is not used.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  *comm->is_aborted = true;
  {
    const std::lock_guard lock(comm->clique->mutex);
    for (auto& [number, collective] : comm->clique->collectives) {
      if (!collective.is_done) collective.calls.erase(comm->rank);
    }
    for (auto& [pair, messages] : comm->clique->sends) {
      if (pair.first == comm->rank) messages.clear();
    }
    for (auto& [pair, messages] : comm->clique->receives) {
      if (pair.second == comm->rank) messages.clear();
    }
  }
  forget(comm);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm->async == ncclInvalidUsage ? "Duplicate GPU detected" : "";
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--group_depth > 0 || group_entries.empty()) return ncclSuccess;
  auto exchange = std::make_shared<Exchange>();
  exchange->entries = std::exchange(group_entries, {});
  NcclRank& rank = *exchange->entries[0].rank;
  const OneThread one(rank);
  exchange->clique = rank.clique;
  exchange->rank = rank.rank;
  return start(rank, exchange->entries[0].stream,
               [exchange, end = rank.is_aborted] { return try_exchange(*exchange, *end); });
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t dtype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return start_collective(comm, stream, {Kind::kAllReduce, in, out, count, dtype, op});
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t dtype, ncclComm_t comm,
                           cudaStream_t stream) {
  return start_collective(comm, stream, {Kind::kAllGather, in, out, count, dtype, 0});
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t dtype, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return start_collective(comm, stream, {Kind::kReduceScatter, in, out, count, dtype, op});
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t dtype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return start_collective(comm, stream, {Kind::kBroadcast, in, out, count, dtype, root});
}
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t dtype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_message(comm, stream, true, peer, data, nullptr, count * size_of_type(dtype));
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t dtype, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add_message(comm, stream, false, peer, nullptr, data, count * size_of_type(dtype));
}

#define HALFTONE_TEST_EXPORT extern "C" __attribute__((visibility("default")))

HALFTONE_TEST_EXPORT void nccl_emulation_set_version(int32_t code) { version = code; }
HALFTONE_TEST_EXPORT void nccl_emulation_hang(int32_t is_on) { hangs = is_on != 0; }
// Other ranks get an error, and this one's operations never end; -1: none is lost.
HALFTONE_TEST_EXPORT void nccl_emulation_lose(int32_t rank) { lost_rank = rank; }
HALFTONE_TEST_EXPORT int64_t nccl_emulation_under_way() { return under_way; }
