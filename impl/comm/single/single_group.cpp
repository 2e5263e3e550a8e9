// The group of one rank: a program that is written for many ranks runs with it unchanged.
#include <cstring>
#include <new>

#include "comm/collectives/flight_recorder.h"
#include "comm/collectives/traffic.h"
#include "comm/groups.h"

namespace halftone {
namespace {

// Shared by all operations, since each is done when it returns.
class DoneWork final : public Work {
 public:
  void destroy() noexcept override {}
  bool is_done() noexcept override { return true; }
  Status wait() noexcept override { return {}; }
  Status wait_on(Stream&) noexcept override { return {}; }
};

constinit DoneWork done;

class SingleGroup final : public ProcessGroup {
 public:
  void destroy() noexcept override { delete this; }
  const char* kind() const noexcept override { return "single"; }
  int32_t rank() const noexcept override { return 0; }
  int32_t size() const noexcept override { return 1; }

  // Every reduction of one value is the value.
  Status all_reduce(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                    Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kAllReduce, .reduce_op = op, .in = in, .out = out}, out_work);
  }
  Status all_gather(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kAllGather, .in = in, .out = out}, out_work);
  }
  Status reduce_scatter(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                        Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kReduceScatter, .reduce_op = op, .in = in, .out = out}, out_work);
  }
  Status broadcast(const CallOptions& options, int32_t root, const View& data, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kBroadcast, .peer = root, .in = data, .out = data}, out_work);
  }
  Status all_to_all(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kAllToAll, .in = in, .out = out}, out_work);
  }
  // There is no other rank, so the check refuses every peer.
  Status send(const CallOptions& options, int32_t peer, const View& data, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kSend, .peer = peer, .in = data, .out = data}, out_work);
  }
  Status receive(const CallOptions& options, int32_t peer, const View& data, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kReceive, .peer = peer, .in = data, .out = data}, out_work);
  }
  Status barrier(const CallOptions& options, Work** out_work) noexcept override {
    return run(options, {.operation = Operation::kBarrier}, out_work);
  }

  void abort(const char* reason) noexcept override {
    failure_ = Status::failure(Code::kPeerLost, "rank 0 aborted the group: %s", reason);
  }

  GroupCounters counters() const noexcept override { return traffic_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override {
    *out = {};
    return {};
  }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    return recorder_.describe(out, capacity);
  }

 private:
  Status run(const CallOptions& options, const Request& request, Work** out_work) noexcept {
    *out_work = nullptr;
    if (!failure_.ok()) return failure_;
    if (Status status = check_request(request, 0, 1); !status.ok()) return status;
    if (options.stream != nullptr) {
      if (Status status = options.stream->synchronize(); !status.ok()) return status;
    }
    const size_t bytes = static_cast<size_t>(request.in.numel()) * size_of(request.in.dtype);
    const bool copies = request.operation != Operation::kBarrier && request.in.data != request.out.data;
    if (copies && bytes > 0) std::memcpy(request.out.data, request.in.data, bytes);
    recorder_.record_end(recorder_.record_call(request, 0), {});
    traffic_.count_operation();
    *out_work = &done;
    return {};
  }

  FlightRecorder recorder_;
  Traffic traffic_;
  Status failure_;
};

}  // namespace

Status create_single_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  if (options.size != 1) {
    return Status::failure(Code::kInvalidArgument, "a group of the kind \"single\" has 1 rank, not %d", options.size);
  }
  if (!options.device->host_accessible()) {
    return Status::failure(Code::kUnsupported, "groups of the kind \"single\" need host memory, unlike that of %s",
                           options.device->name());
  }
  *out = new (std::nothrow) SingleGroup;
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a group");
}

}  // namespace halftone
