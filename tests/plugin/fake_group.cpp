#include "fake_group.h"

#include <cstring>
#include <new>

namespace fake_plugin {
namespace {

using namespace halftone;

Status unsupported() { return Status::failure(Code::kUnsupported, "the fake group can reduce, no more"); }

class FakeWork final : public Work {
 public:
  FakeWork(const View& in, const View& out) : in_(in), out_(out) {}
  void destroy() noexcept override { delete this; }
  bool is_done() noexcept override { return is_done_; }
  bool wait_for(int64_t) noexcept override { return wait().ok(); }
  Status wait() noexcept override {
    if (!is_done_) std::memcpy(out_.data, in_.data, static_cast<size_t>(in_.numel()) * sizeof(float));
    is_done_ = true;
    return {};
  }
  Status wait_on(Stream&) noexcept override { return wait(); }

 private:
  View in_;
  View out_;
  bool is_done_ = false;
};

class FakeGroup final : public ProcessGroup {
 public:
  void destroy() noexcept override { delete this; }
  const char* kind() const noexcept override { return "fake"; }
  int32_t rank() const noexcept override { return 0; }
  int32_t size() const noexcept override { return 1; }

  Status start(const CallOptions&, const Request& request, Work** out_work) noexcept override {
    *out_work = nullptr;
    if (request.operation != Operation::kAllReduce || request.in.dtype != DType::kF32) return unsupported();
    if (request.out.dtype != DType::kF32) return unsupported();
    *out_work = new (std::nothrow) FakeWork(request.in, request.out);
    return *out_work != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for an operation");
  }
  void abort(const char*) noexcept override {}
  void fail(const Status&) noexcept override {}
  GroupCounters counters() const noexcept override { return {}; }
  Status link_cost(LinkCost*) const noexcept override { return unsupported(); }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    if (capacity > 0) out[0] = '\0';
    return 0;
  }
};

}  // namespace

Status create_group(const GroupOptions& options, ProcessGroup** out) noexcept {
  if (options.size != 1) {
    return Status::failure(Code::kUnsupported, "the fake group has one rank, not %d", options.size);
  }
  *out = new (std::nothrow) FakeGroup;
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a group");
}

}  // namespace fake_plugin
