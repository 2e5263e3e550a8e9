#include "comm/nccl/communicator.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "comm/control/signals_blocked.h"
#include "comm/nccl/cuda_call.h"

namespace halftone::nccl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kFirstPause{10};
constexpr std::chrono::microseconds kLongestPause{1000};
constexpr std::chrono::seconds kFarewell{5};     // to abort
constexpr std::chrono::seconds kLeaveTaking{1};  // of ranks that leave in good order
constexpr int64_t kLeastScratch = int64_t{64} << 10;

template <class IsOver>
bool wait_until(IsOver&& is_over, Clock::duration time) {
  const auto deadline = Clock::now() + time;
  for (auto pause = kFirstPause; !is_over(); pause = std::min(2 * pause, kLongestPause)) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

// Runs action() on a thread of its own, since it may never return. Returns false if it did not in a few seconds; then
// the thread goes on with its copies.
template <class Action>
bool run_apart(Action action) noexcept {
  struct Apart {
    Action action;
    std::shared_ptr<std::atomic<bool>> is_over;
  };
  try {
    auto is_over = std::make_shared<std::atomic<bool>>(false);
    auto apart = std::make_unique<Apart>(Apart{action, is_over});
    const SignalsBlocked in_the_thread;
    pthread_t thread{};
    const auto body = [](void* argument) -> void* {
      const std::unique_ptr<Apart> own(static_cast<Apart*>(argument));
      own->action();
      *own->is_over = true;
      return nullptr;
    };
    if (pthread_create(&thread, nullptr, body, apart.get()) != 0) return false;
    pthread_detach(thread);
    static_cast<void>(apart.release());
    return wait_until([&] { return is_over->load(); }, kFarewell);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// True for the dtypes that NCCL reduces as this library promises. It has no i16 and, in 2.20, no floats of 8 bits.
bool is_native(ReduceOp op, DType dtype) {
  const bool is_extreme = op == ReduceOp::kMin || op == ReduceOp::kMax;
  switch (dtype) {
    case DType::kI16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return false;
    default:
      return !is_float(dtype) || !is_extreme;  // a NaN may get lost in NCCL's minimum
  }
}

ncclDataType_t native_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ncclFloat64;
    case DType::kF32:
      return ncclFloat32;
    case DType::kF16:
      return ncclFloat16;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kI64:
      return ncclInt64;
    case DType::kI32:
      return ncclInt32;
    case DType::kI8:
      return ncclInt8;
    default:
      return ncclUint8;
  }
}

ncclRedOp_t native_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage:
      return ncclAvg;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    default:
      return ncclSum;
  }
}

}  // namespace

Communicator::Communicator(const NcclFunctions& nccl, const Seat& seat) : nccl_(nccl), seat_(seat) {}

Communicator::~Communicator() {
  if (is_stuck_) return;
  const CurrentDevice current(seat_.device);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  for (void* memory : memory_) cudaFree(memory);
}

Status Communicator::status_of(ncclResult_t result, const char* call) const noexcept {
  if (result == ncclSuccess) return {};
  const char* detail = comm_ != nullptr ? nccl_.get_last_error(comm_) : "";
  const auto failure = [&](Code code, const char* what) {
    Status status = Status::failure(code, "%s%s: %s%s%.160s", what, call, nccl_.get_error_string(result),
                                    detail != nullptr && *detail != '\0' ? ": " : "", detail != nullptr ? detail : "");
    status.native_code = static_cast<int32_t>(result);
    return status;
  };
  switch (result) {
    case ncclRemoteError:
    case ncclSystemError:
      return failure(Code::kPeerLost, "a rank is lost, or the network fails: ");
    case ncclUnhandledCudaError:
      return failure(Code::kDevice, "");
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return failure(Code::kInvalidArgument, "");
    default:
      return failure(Code::kInternal, "");
  }
}

// Asks NCCL until a call that did not end at once has ended.
Status Communicator::settle(ncclResult_t result, const char* call, const Patience& patience) const {
  for (auto pause = kFirstPause; result == ncclInProgress; pause = std::min(2 * pause, kLongestPause)) {
    if (Status status = patience(); !status.ok()) return status;
    std::this_thread::sleep_for(pause);
    ncclResult_t state = ncclSuccess;
    result = nccl_.get_async_error(comm_, &state);
    if (result == ncclSuccess) result = state;
  }
  return status_of(result, call);
}

Status Communicator::join(const ncclUniqueId& id, const Patience& patience) {
  const CurrentDevice current(seat_.device);
  Status status =
      nccl::status_of(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  if (!status.ok()) return status;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return settle(nccl_.init_rank(&comm_, seat_.size, id, seat_.rank, &config), "ncclCommInitRankConfig", patience);
}

Status Communicator::async_error() const noexcept {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = nccl_.get_async_error(comm_, &state);
  if (result == ncclSuccess && state == ncclInProgress) return {};
  return status_of(result == ncclSuccess ? state : result, "ncclCommGetAsyncError");
}

template <class Calls>
Status Communicator::in_group(Calls&& calls, const Patience& patience) {
  ncclResult_t result = nccl_.group_start();
  if (result != ncclSuccess) return status_of(result, "ncclGroupStart");
  const ncclResult_t first = calls();
  result = nccl_.group_end();
  if (first != ncclSuccess && first != ncclInProgress) return status_of(first, "ncclSend");
  return settle(result, "ncclGroupEnd", patience);
}

Status Communicator::swap(const std::function<Piece(int32_t)>& piece_of, const Patience& patience) {
  const auto calls = [&] {
    ncclResult_t result = ncclSuccess;
    const auto is_fine = [&] { return result == ncclSuccess || result == ncclInProgress; };
    for (int32_t rank = 0; rank < seat_.size && is_fine(); ++rank) {
      if (rank == seat_.rank) continue;
      const Piece piece = piece_of(rank);
      if (piece.send_bytes > 0) {
        result = nccl_.send(piece.from, static_cast<size_t>(piece.send_bytes), ncclInt8, rank, comm_, stream_);
      }
      if (piece.receive_bytes > 0 && is_fine()) {
        result = nccl_.receive(piece.to, static_cast<size_t>(piece.receive_bytes), ncclInt8, rank, comm_, stream_);
      }
    }
    return result;
  };
  return seat_.size > 1 ? in_group(calls, patience) : Status{};
}

Status Communicator::copy(const void* from, void* to, int64_t bytes) noexcept {
  if (bytes == 0 || from == to) return {};
  return nccl::status_of(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream_),
                         "cudaMemcpyAsync");
}

// In powers of two, so that there are few steps. Smaller memory stays until the end: to free it would wait for the
// device, which may wait for a rank that is lost.
Status Communicator::reserve_scratch(int64_t bytes) {
  if (bytes <= scratch_bytes_) return {};
  int64_t size = kLeastScratch;
  while (size < bytes) size *= 2;
  void* made = nullptr;
  Status status = nccl::status_of(cudaMalloc(&made, static_cast<size_t>(size)), "cudaMalloc");
  if (!status.ok()) return status;
  memory_.push_back(made);
  scratch_ = static_cast<std::byte*>(made);
  scratch_bytes_ = size;
  return {};
}

// Operations without elements are done at once: NCCL does nothing for them either.
Status Communicator::queue(const Request& request, bool is_deterministic, const Patience& patience) {
  const CurrentDevice current(seat_.device);
  const Request& r = request;
  if (r.operation == Operation::kBarrier) return barrier(patience);
  if (r.operation == Operation::kMessages) return queue_messages(transfers_of(r), patience);
  if (r.in.numel() == 0) return {};
  const auto bytes = static_cast<size_t>(bytes_of(r.in));
  switch (r.operation) {
    case Operation::kAllReduce:
      return is_deterministic || !is_native(r.reduce_op, r.in.dtype) ? all_reduce_in_tree(r, patience)
                                                                     : queue_reduction(r, patience);
    case Operation::kReduceScatter:
      return is_deterministic || !is_native(r.reduce_op, r.in.dtype) ? reduce_scatter_in_tree(r, patience)
                                                                     : queue_reduction(r, patience);
    case Operation::kAllGather:
      return settle(nccl_.all_gather(r.in.data, r.out.data, bytes, ncclInt8, comm_, stream_), "ncclAllGather",
                    patience);
    case Operation::kBroadcast:
      return settle(nccl_.broadcast(r.in.data, r.out.data, bytes, ncclInt8, r.peer, comm_, stream_), "ncclBroadcast",
                    patience);
    case Operation::kAllToAll:
      return all_to_all(r, patience);
    default:
      return Status::failure(Code::kInternal, "an unknown operation");
  }
}

Status Communicator::queue_reduction(const Request& request, const Patience& patience) {
  const ncclDataType_t dtype = native_dtype(request.in.dtype);
  const ncclRedOp_t op = native_op(request.reduce_op);
  const auto count = static_cast<size_t>(request.count());
  if (request.operation == Operation::kAllReduce) {
    return settle(nccl_.all_reduce(request.in.data, request.out.data, count, dtype, op, comm_, stream_),
                  "ncclAllReduce", patience);
  }
  return settle(nccl_.reduce_scatter(request.in.data, request.out.data, count, dtype, op, comm_, stream_),
                "ncclReduceScatter", patience);
}

Status Communicator::queue_messages(std::span<const Transfer> transfers, const Patience& patience) {
  const auto calls = [&] {
    ncclResult_t result = ncclSuccess;
    for (const Transfer& transfer : transfers) {
      const auto bytes = static_cast<size_t>(bytes_of(transfer.data));
      if (bytes == 0 || (result != ncclSuccess && result != ncclInProgress)) continue;
      result = transfer.direction == Operation::kSend
                   ? nccl_.send(transfer.data.data, bytes, ncclInt8, transfer.peer, comm_, stream_)
                   : nccl_.receive(transfer.data.data, bytes, ncclInt8, transfer.peer, comm_, stream_);
    }
    return result;
  };
  return in_group(calls, patience);
}

Status Communicator::all_to_all(const Request& request, const Patience& patience) {
  const int64_t bytes = bytes_of(request.in) / seat_.size;
  const auto* in = static_cast<const std::byte*>(request.in.data);
  auto* out = static_cast<std::byte*>(request.out.data);
  Status status = copy(in + seat_.rank * bytes, out + seat_.rank * bytes, bytes);
  if (!status.ok()) return status;
  return swap([&](int32_t rank) { return Piece{in + rank * bytes, out + rank * bytes, bytes, bytes}; }, patience);
}

// NCCL has none: a sum of one byte of each rank.
Status Communicator::barrier(const Patience& patience) {
  Status status = reserve_scratch(1);
  if (!status.ok() || seat_.size == 1) return status;
  return settle(nccl_.all_reduce(scratch_, scratch_, 1, ncclInt8, ncclSum, comm_, stream_), "ncclAllReduce", patience);
}

void Communicator::abort() noexcept {
  if (comm_ == nullptr) return;
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  const auto device = seat_.device;
  const auto abort = nccl_.abort;
  is_stuck_ = !run_apart([=] {
    const CurrentDevice current(device);
    abort(comm);
  });
}

void Communicator::finish() noexcept {
  if (comm_ == nullptr) return;
  const CurrentDevice current(seat_.device);
  const auto deadline = Clock::now() + kLeaveTaking;
  const Patience patience = [&] {
    return Clock::now() < deadline ? Status{} : Status::failure(Code::kTimeout, "the other ranks do not leave");
  };
  if (!settle(nccl_.finalize(comm_), "ncclCommFinalize", patience).ok()) return abort();
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  const auto device = seat_.device;
  const auto destroy = nccl_.destroy;
  is_stuck_ = !run_apart([=] {
    const CurrentDevice inner(device);
    destroy(comm);
  });
}

}  // namespace halftone::nccl
