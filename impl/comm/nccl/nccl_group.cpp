#include "comm/nccl/nccl_group.h"

#include <cstring>
#include <memory>
#include <string>

#include "comm/control/roster.h"
#include "comm/guarded.h"
#include "comm/nccl/nccl_thread.h"
#include "core/foreign_function.h"

namespace halftone::nccl {
namespace {

using Clock = NcclWork::Clock;

class NcclGroup final : public ProcessGroup {
 public:
  NcclGroup(const NcclFunctions& nccl, const GroupOptions& options)
      : rank_(options.rank), size_(options.size), device_(options.device->index()), thread_(nccl, options) {}

  // As NcclThread::start.
  Status connect(const GroupOptions& options, const ncclUniqueId& id, Clock::time_point deadline) {
    return thread_.start(options, id, deadline);
  }

  void destroy() noexcept override {
    if (!owner_.is_here()) return;
    thread_.close();
    thread_.stop();
    delete this;
  }
  const char* kind() const noexcept override { return "nccl"; }
  int32_t rank() const noexcept override { return rank_; }
  int32_t size() const noexcept override { return size_; }

  Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept override;

  void abort(const char* reason) noexcept override {
    fail(Status::failure(Code::kPeerLost, "rank %d aborted the group: %s", thread_.names()[rank_], reason));
  }
  void fail(const Status& reason) noexcept override {
    if (owner_.is_here()) thread_.abort(reason);
  }
  GroupCounters counters() const noexcept override { return thread_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override {
    *out = {};
    if (size_ == 1) return {};
    return Status::failure(Code::kUnsupported, "NCCL measures its links itself, and does not tell");
  }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    if (owner_.is_here()) return thread_.recorder().describe(out, capacity);
    if (capacity > 0) out[0] = '\0';
    return 0;
  }

 private:
  Status mark_ready(const CallOptions& options, NcclWork& work) const noexcept;

  const OwnerProcess owner_;
  const int32_t rank_;
  const int32_t size_;
  const int32_t device_;
  NcclThread thread_;
};

Status NcclGroup::start(const CallOptions& options, const Request& request, Work** out_work) noexcept {
  *out_work = nullptr;
  if (!owner_.is_here()) {
    return Status::failure(Code::kState, "the group belongs to process %d, and this is a child of it", owner_.id());
  }
  if (Status status = check_request(request, rank_, size_); !status.ok()) return status;
  Status result;
  const Status thrown = guarded([&] {
    const Ref<NcclWork> work = make_ref<NcclWork>(request, options, device_);
    result = mark_ready(options, *work);
    if (result.ok()) result = thread_.submit(work);
    if (result.ok()) *out_work = Ref<NcclWork>(work).detach();
  });
  return thrown.ok() ? result : thrown;
}

// The group's thread asks whether the device has run the operation, which it cannot ask about work in a graph.
Status NcclGroup::mark_ready(const CallOptions& options, NcclWork& work) const noexcept {
  if (options.stream == nullptr) return {};
  const auto stream = static_cast<cudaStream_t>(options.stream->native_handle());
  if (stream == nullptr) return options.stream->synchronize();
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  Status status = status_of(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing");
  if (status.ok() && capture != cudaStreamCaptureStatusNone) {
    return Status::failure(Code::kUnsupported, "operations of a group over NCCL cannot be captured into a graph");
  }
  return status.ok() ? work.ready().record(stream) : status;
}

Status check_options(const GroupOptions& options) {
  if (options.device->kind() != DeviceKind::kCuda) {
    return Status::failure(Code::kUnsupported, "groups of the kind \"nccl\" need a CUDA device, unlike %s",
                           options.device->name());
  }
  if (options.store != nullptr || options.size == 1) return {};
  return Status::failure(Code::kInvalidArgument, "a group over NCCL needs a store, which all its ranks reach");
}

int64_t nanoseconds_of(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Rank 0 makes NCCL's number of the group. In hexadecimal, since entries are text.
Status make_id(const NcclFunctions& nccl, ncclUniqueId* out) {
  const ncclResult_t result = nccl.get_unique_id(out);
  if (result == ncclSuccess) return {};
  return Status::failure(Code::kDevice, "ncclGetUniqueId: %s", nccl.get_error_string(result));
}

std::string text_of(const ncclUniqueId& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    const auto value = static_cast<unsigned char>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

Status parse(const std::string& text, ncclUniqueId* out) {
  if (text.size() != 2 * sizeof out->internal) return Status::failure(Code::kComm, "the store has no number of NCCL's");
  for (size_t i = 0; i < sizeof out->internal; ++i) {
    out->internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return {};
}

Status exchange_id(const NcclFunctions& nccl, const GroupOptions& options, Roster& roster, ncclUniqueId* out) {
  if (options.rank == 0) {
    Status status = make_id(nccl, out);
    return status.ok() && options.size > 1 ? roster.publish("nccl", text_of(*out)) : status;
  }
  std::string text;
  Status status = roster.read("nccl", 0, &text);
  return status.ok() ? parse(text, out) : status;
}

Status make_group(const NcclFunctions& nccl, const GroupOptions& options, ProcessGroup** out) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::nanoseconds(std::min(options.timeout_ns, int64_t{1} << 61));
  Roster roster(options, nanoseconds_of(deadline));
  if (options.size > 1) {
    if (Status status = roster.meet(); !status.ok()) return status;
  }
  ncclUniqueId id;
  Status status = exchange_id(nccl, options, roster, &id);
  auto group = std::make_unique<NcclGroup>(nccl, options);
  if (status.ok()) status = group->connect(options, id, deadline);
  if (!status.ok()) return options.size > 1 ? roster.blame(status) : status;
  if (options.size > 1) roster.finish();
  *out = group.release();
  return {};
}

}  // namespace

Status create_nccl_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  const CancellationGuard no_cancellation;
  *out = nullptr;
  const NcclFunctions* nccl = nullptr;
  if (Status status = check_options(options); !status.ok()) return status;
  if (Status status = open_nccl(&nccl); !status.ok()) return status;
  Status result;
  const Status thrown = guarded([&] { result = make_group(*nccl, options, out); });
  return thrown.ok() ? result : thrown;
}

}  // namespace halftone::nccl
