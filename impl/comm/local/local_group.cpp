// Groups without another process. "single" has one rank: a program that is written for many runs with it unchanged.
// "meta", over the memory of the device of that name, which has no content, has any number of ranks that all do what
// this one does: it moves nothing, so that a program tells what memory it would need and what it would send.
#include <algorithm>
#include <cstring>
#include <new>

#include "comm/collectives/flight_recorder.h"
#include "comm/collectives/operands.h"
#include "comm/collectives/traffic.h"
#include "comm/group/groups.h"
#include "comm/guarded.h"

namespace halftone {
namespace {

// Shared by all operations, since each is done when it returns.
class DoneWork final : public Work {
 public:
  void destroy() noexcept override {}
  bool is_done() noexcept override { return true; }
  bool wait_for(int64_t) noexcept override { return true; }
  Status wait() noexcept override { return {}; }
  Status wait_on(Stream&) noexcept override { return {}; }
};

constinit DoneWork done;

constexpr const char* kMeta = "meta";
// Operands up to this size have content on the device "meta", such as what ranks compare.
constexpr size_t kLargestContent = 4096;

class LocalGroup final : public ProcessGroup {
 public:
  LocalGroup(const char* kind, const GroupOptions& options)
      : kind_(kind), rank_(options.rank), size_(options.size), names_(options), recorder_(names_) {}

  void destroy() noexcept override { delete this; }
  const char* kind() const noexcept override { return kind_; }
  int32_t rank() const noexcept override { return rank_; }
  int32_t size() const noexcept override { return size_; }

  Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept override {
    *out_work = nullptr;
    if (!failure_.ok()) return failure_;
    if (Status status = check_request(request, rank_, size_); !status.ok()) return status;
    if (options.stream != nullptr) {
      if (Status status = options.stream->synchronize(); !status.ok()) return status;
    }
    if (request.operation != Operation::kBarrier && request.operation != Operation::kMessages) move(request);
    recorder_.record_end(recorder_.record_call(request), {});
    traffic_.count_operation();
    if (const int64_t sent = bytes_sent_by_rings(request, rank_, size_); sent > 0) {
      traffic_.count_sent(sent, messages_sent_by(request));
    }
    *out_work = &done;
    return {};
  }

  void abort(const char* reason) noexcept override {
    fail(Status::failure(Code::kPeerLost, "rank %d aborted the group: %s", names_[rank_], reason));
  }
  void fail(const Status& reason) noexcept override { failure_ = reason; }

  GroupCounters counters() const noexcept override { return traffic_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override {
    *out = {};
    return {};
  }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    return recorder_.describe(out, capacity);
  }

 private:
  // A reduction of equal values is left to be one of them.
  void move(const Request& request) const noexcept {
    const size_t bytes = static_cast<size_t>(std::min(bytes_of(request.in), bytes_of(request.out)));
    if (bytes == 0 || (kind_ == kMeta && bytes > kLargestContent)) return;
    const auto part = [bytes](const View& view, int32_t rank) {
      return static_cast<char*>(view.data) + static_cast<size_t>(rank) * bytes;
    };
    if (request.operation == Operation::kAllGather) {
      for (int32_t rank = 0; rank < size_; ++rank) std::memmove(part(request.out, rank), request.in.data, bytes);
    } else {
      const int32_t first = request.operation == Operation::kReduceScatter ? rank_ : 0;
      std::memmove(request.out.data, part(request.in, first), bytes);
    }
  }

  const char* const kind_;
  const int32_t rank_;
  const int32_t size_;
  const RankNames names_;

  FlightRecorder recorder_;
  Traffic traffic_;
  Status failure_;
};

Status create_local_group(const char* kind, const GroupOptions& options, ProcessGroup** out) noexcept {
  *out = nullptr;
  return guarded([&] { *out = new LocalGroup(kind, options); });
}

}  // namespace

Status create_single_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  if (options.size != 1) {
    return Status::failure(Code::kInvalidArgument, "a group of the kind \"single\" has 1 rank, not %d", options.size);
  }
  if (!options.device->host_accessible()) {
    return Status::failure(Code::kUnsupported, "groups of the kind \"single\" need host memory, unlike that of %s",
                           options.device->name());
  }
  return create_local_group("single", options, out);
}

Status create_meta_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  if (std::strcmp(options.device->name(), kMeta) != 0) {
    return Status::failure(Code::kUnsupported,
                           "groups of the kind \"meta\" move nothing and need the device meta, not %s",
                           options.device->name());
  }
  return create_local_group(kMeta, options, out);
}

}  // namespace halftone
